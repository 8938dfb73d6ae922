// Package record is the format of crash records: what lies where below the
// record root, and what its JSON files mean. The layout is an API: people read
// it with `oc adm node-logs --path=nodekeeper/...`, the plugin reads it through
// the API server, and the hook writes its first lines into it.
//
//	/var/log/nodekeeper/
//	  index.json                      Index of all records and live attempts
//	  NAMESPACE_POD/
//	    index.json                    the same, of this pod
//	    CONTAINER/
//	      index.json                  the same, of this container
//	      20261130T090337Z-1a2b3c4d-7/     one record: one attempt that has ended
//	        meta.json                 Meta
//	        log.0                     Segment: what was written first
//	        log.1.gz                  Segment, compressed
//	  .live/CONTAINERID/              an attempt that has not been recorded yet
//	    birth.json                    Birth
//	    log.0, log.1.gz, ...          as above
//	    capture.json                  Capture: segments and gaps so far
//	  .quarantine/                    what made no sense; never read, never shown
//	  acts/                           evidence of acts (package remedy)
//
// A record appears whole, by the rename of its directory; meta.json alone
// changes afterwards, by rename. Segments are hard links to the kubelet's log
// files for as long as the kubelet keeps those, so nobody may write to them,
// nor change their mode, owner or label. An index is a cache of meta.json
// files: when it is missing or does not parse, the directories say the same.
//
// The package imports nothing but the standard library: the hook uses it.
package record
