package node

import (
	"context"
	"fmt"
)

// SetHostname renames the running host, for good, as an admin or a new lease of
// DHCP does. What runs already may know the old name. The undo renames it back.
func (b *Box) SetHostname(ctx context.Context, name string) (undo func(context.Context) error, err error) {
	set := func(ctx context.Context, name string) error {
		if _, _, err := b.Exec(ctx, "hostnamectl", "set-hostname", name); err != nil {
			return fmt.Errorf("rename the host of box %s: %w", b.Name, err)
		}
		return nil
	}
	return func(ctx context.Context) error { return set(ctx, b.Hostname) }, set(ctx, name)
}
