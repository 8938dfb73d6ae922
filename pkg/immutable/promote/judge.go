package promote

import (
	"fmt"
	"slices"
	"time"
)

// Policy is what a cluster decides for itself.
type Policy struct {
	// Now is when the judgement is made.
	Now time.Time
	// MinAge is how long the content must have been seen unchanged.
	MinAge time.Duration
	// Owners are the controllers whose objects may be promoted all the same, as
	// Kind.group: "ProwJob.prow.k8s.io".
	Owners []string
	// Namespace is the promoter's own, which is left alone.
	Namespace string
}

// Verdict is a judgement.
type Verdict struct {
	Promote bool
	// Rule is what decided; for a promotion, what made the object eligible.
	Rule Rule
	// Reason is one line for people.
	Reason string
	// Needs is the fact without which nothing more can be said. Such a verdict
	// never promotes.
	Needs Fact
}

// Rule names a reason. It is a metric's label and does not change.
type Rule string

// Fact is one that costs a request.
type Fact string

// What a judgement may need.
const (
	NeedsContent Fact = "content"
	NeedsAge     Fact = "age"
	NeedsUse     Fact = "use"
)

// Rules beside those of the never-list (see never.go).
const (
	RuleImmutable   Rule = "immutable"
	RuleDeleted     Rule = "deleted"
	RuleOptOut      Rule = "opt-out"
	RuleReloader    Rule = "reloader"
	RuleNoOptIn     Rule = "no-opt-in"
	RuleDeployed    Rule = "deployed"
	RuleWriters     Rule = "writers"
	RuleAge         Rule = "age"
	RuleUnused      Rule = "unused"
	RuleNameHash    Rule = "name-hash"
	RuleOptIn       Rule = "opt-in"
	ruleNeedContent Rule = "unread"
)

// refusal is a rule that can only refuse. Its reason is empty when it does not.
type refusal struct {
	rule Rule
	why  func(Object, Policy) string
}

// Judge says whether an object may be promoted, or why not.
func Judge(o Object, p Policy) Verdict {
	return judge(o, p, slices.Concat(settled, never, optOut), conditions)
}

func judge(o Object, p Policy, refusals []refusal, conditions []condition) Verdict {
	for _, r := range refusals {
		if why := r.why(o, p); why != "" {
			return Verdict{Rule: r.rule, Reason: why}
		}
	}
	eligible := eligibility(o)
	if !eligible.Promote {
		return eligible
	}
	for _, c := range conditions {
		if v := c(o, p, eligible); v.Rule != "" {
			return v
		}
	}
	return eligible
}

// settled is what leaves nothing to judge.
var settled = []refusal{
	{RuleImmutable, func(o Object, _ Policy) string {
		switch {
		case o.Content == nil || o.Content.Immutable == nil:
			return ""
		case *o.Content.Immutable:
			return "it is immutable"
		}
		return "it says immutable: false, and whoever applies that again would be refused"
	}},
	{RuleDeleted, func(o Object, _ Policy) string {
		if o.Meta.DeletionTimestamp != nil {
			return "it is being deleted"
		}
		return ""
	}},
}

// eligibility says whether something speaks for promotion: the name, if it is
// made of the content, or else somebody's word.
func eligibility(o Object) Verdict {
	optedIn := optIn(o)
	switch {
	case optedIn == "" && !mayHaveNameHash(o.Meta):
		return Verdict{Rule: RuleNoOptIn, Reason: "its name has no content hash, and neither it nor its namespace is labelled " + PolicyKey + "=" + PolicyPromote}
	case o.Content == nil:
		return Verdict{Rule: ruleNeedContent, Reason: "its content has not been read", Needs: NeedsContent}
	}
	if made := nameHash(o); made != "" {
		return Verdict{Promote: true, Rule: RuleNameHash, Reason: "its name is the hash of its content (" + made + ")"}
	}
	if optedIn != "" {
		return Verdict{Promote: true, Rule: RuleOptIn, Reason: optedIn}
	}
	return Verdict{Rule: RuleNoOptIn, Reason: "its name looks like a content hash but is not that of its content, and nobody opted in"}
}

// condition must hold for what is eligible; its verdict is empty if it does.
type condition func(o Object, p Policy, eligible Verdict) Verdict

var conditions = []condition{deployed, oneWriter, oldEnough, used}

func oldEnough(o Object, p Policy, _ Verdict) Verdict {
	if o.UnchangedSince.IsZero() {
		return Verdict{Rule: RuleAge, Reason: "its content has not been seen before", Needs: NeedsAge}
	}
	if age := p.Now.Sub(o.UnchangedSince); age < p.MinAge {
		return Verdict{Rule: RuleAge, Reason: fmt.Sprintf("its content was first seen %v ago, which is less than %v", max(0, age.Round(time.Second)), p.MinAge)}
	}
	return Verdict{}
}

func used(o Object, _ Policy, eligible Verdict) Verdict {
	switch {
	case o.Use == nil:
		return Verdict{Rule: RuleUnused, Reason: "nobody has looked who uses it", Needs: NeedsUse}
	case o.Use.Pods == 0:
		return Verdict{Rule: RuleUnused, Reason: "no pod names it"}
	case o.Use.Checksummed != "" && eligible.Rule != RuleNameHash:
		return Verdict{Rule: RuleDeployed, Reason: "pod " + o.Use.Checksummed + " carries a checksum annotation: its chart edits in place"}
	}
	return Verdict{}
}
