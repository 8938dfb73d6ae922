package wire

// Resource is the plural name of a kind as it stands in a request's path.
type Resource string

// The resources that are understood.
const (
	Secrets    Resource = "secrets"
	ConfigMaps Resource = "configmaps"
)

const apiVersion = "v1"

// Known says whether the resource is one of the two.
func (r Resource) Known() bool { return r == Secrets || r == ConfigMaps }

// kind is the kind of one object.
func (r Resource) kind() string {
	if r == Secrets {
		return "Secret"
	}
	return "ConfigMap"
}

// listKind is the kind of a list of them.
func (r Resource) listKind() string { return r.kind() + "List" }
