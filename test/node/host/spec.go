package host

// Spec is what a supervisor is told about its box, as JSON in the box's
// folder.
type Spec struct {
	// Dir is the box's folder, with "upper", "work" and "root" in it.
	Dir string `json:"dir"`
	// Template is the root file system under the overlay, never written to.
	Template string `json:"template"`
	// Hostname of the box.
	Hostname string `json:"hostname"`
	// Binds and ReadOnlyBinds map a path outside to one inside.
	Binds         map[string]string `json:"binds"`
	ReadOnlyBinds map[string]string `json:"readOnlyBinds"`
}
