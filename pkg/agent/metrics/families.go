package metrics

// Family is one metric with all its labels.
type Family struct {
	Name string
	// Type is counter or gauge.
	Type   string
	Labels []string
	// Help is one sentence without a full stop at its end.
	Help string
}

const (
	counter = "counter"
	gauge   = "gauge"
)

// Families are all metrics of the agent, in the order of the page.
var Families = []Family{
	{"nodekeeper_build_info", gauge, []string{"version", "goversion"}, "Always 1; the labels say what runs"},
	{"nodekeeper_containers", gauge, []string{"verdict"}, "Containers, and pods and services that are judged as a whole, by the verdict of the last look"},
	{"nodekeeper_containers_overdue", gauge, nil, "Those of them that are down or wrong beyond their deadline"},
	{"nodekeeper_container_down_seconds", gauge, []string{"namespace", "pod", "container"}, "How long a container, or a pod as a whole, has been down without a break, as of the last look; only those that are"},
	{"nodekeeper_acts_total", counter, []string{"step", "result"}, "Acts by step and result; one that was carried out counts as done, and as healed or in-vain once its effect is known"},
	{"nodekeeper_acts_withheld", gauge, nil, "1 while no act at all may be taken because the journal of acts was lost or cannot be written"},
	{"nodekeeper_inhibitors", gauge, []string{"inhibitor"}, "Verdicts whose next step each inhibitor forbids just now; only those that do"},
	{"nodekeeper_acts_budget_remaining", gauge, nil, "Least of nodekeeper_step_budget_remaining; at 0 a kind of step is used up for now"},
	{"nodekeeper_step_budget_remaining", gauge, []string{"step"}, "Steps that may still be taken on the whole node within the hour and the day, of those that are enabled and bounded"},
	{"nodekeeper_breaker_open", gauge, nil, "1 while every step has been tried for something in vain, and it is only reported"},
	{"nodekeeper_paused", gauge, nil, "1 while an admin has suspended all acts"},
	{"nodekeeper_dry_run", gauge, nil, "1 if acts are announced and not taken"},
	{"nodekeeper_last_look_timestamp_seconds", gauge, nil, "When the last look began"},
	{"nodekeeper_looks_total", counter, nil, "Looks at the node"},
	{"nodekeeper_source_up", gauge, []string{"source"}, "1 if the last look could see the source"},
	{"nodekeeper_manifest_problems", gauge, []string{"kind"}, "Manifest files that the kubelet skips, or that hide one another"},

	{"nodekeeper_records_up", gauge, nil, "1 while nothing keeps crash records from being made"},
	{"nodekeeper_records", gauge, nil, "Crash records that are kept"},
	{"nodekeeper_records_bytes", gauge, nil, "Disk space that crash records take"},
	{"nodekeeper_records_limit_bytes", gauge, nil, "Disk space that crash records may take"},
	{"nodekeeper_records_live", gauge, nil, "Running attempts whose logs are followed"},
	{"nodekeeper_crashes_total", counter, []string{"class"}, "Recorded attempts that ended in trouble"},
	{"nodekeeper_record_evictions_total", counter, []string{"reason"}, "Records removed, by the limit that was kept"},
	{"nodekeeper_record_gaps_total", counter, nil, "Gaps in the logs of records when they were made"},
	{"nodekeeper_records_lost_total", counter, nil, "Ended attempts of which no record could be made"},
	{"nodekeeper_lifecycle_events_total", counter, []string{"source"}, "Events of containers, by who told of them"},
	{"nodekeeper_lifecycle_events_dropped_total", counter, nil, "Events that came faster than they could be taken; the next look makes up for them"},
	{"nodekeeper_lifecycle_source_up", gauge, []string{"source"}, "1 if a source of events works"},
	{"nodekeeper_spool_events", gauge, nil, "Events of the hook that wait for the agent on disk"},
	{"nodekeeper_spool_dropped_total", counter, nil, "Events that found the hook's spool full since the node was booted"},

	{"nodekeeper_proxy_up", gauge, nil, "1 if the watch guard has told its counts within the last 15 seconds"},
	{"nodekeeper_proxy_requests_total", counter, []string{"outcome"}, "Requests of the kubelet to the watch guard"},
	{"nodekeeper_proxy_upstream_requests_total", counter, []string{"verb", "result"}, "Requests of the watch guard's own to the API server that were answered, or failed"},
	{"nodekeeper_proxy_streams", gauge, nil, "Watches of the kubelet that the watch guard holds open"},
	{"nodekeeper_proxy_upstream_watches", gauge, nil, "Watches that the watch guard has open at the API server"},
	{"nodekeeper_proxy_objects", gauge, nil, "Objects that the watch guard knows, missing ones among them"},
	{"nodekeeper_proxy_cache_bytes", gauge, nil, "Size of the objects in the watch guard's memory"},
	{"nodekeeper_proxy_bypass", gauge, []string{"reason"}, "1 while the kubelet's connections, or those of its next start, go past the watch guard"},
	{"nodekeeper_proxy_late_answers_total", counter, nil, "First reads that the API server did not answer in time for the kubelet"},

	{"process_cpu_seconds_total", counter, nil, "CPU time of the agent, user and system"},
	{"process_resident_memory_bytes", gauge, nil, "Resident memory of the agent"},
	{"process_open_fds", gauge, nil, "Open file descriptors of the agent"},
	{"process_start_time_seconds", gauge, nil, "When the agent began"},
}
