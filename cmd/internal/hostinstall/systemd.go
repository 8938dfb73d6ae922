package hostinstall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// The sockets of a node's systemd: its own, which only root may use, and the
// bus's.
const (
	ownSocket = "/run/systemd/private"
	busSocket = "/run/dbus/system_bus_socket"
)

// Connection is a node's systemd over D-Bus.
type Connection struct{ conn *systemdbus.Conn }

// Dial connects to the systemd whose sockets are below root. Its own comes first:
// AppArmor and polkit have no say there. The context must last as long as the
// connection. The caller closes it.
func Dial(ctx context.Context, root string) (*Connection, error) {
	own, ownErr := systemdbus.NewConnection(func() (*dbus.Conn, error) { return dial(ctx, root, ownSocket) })
	if ownErr == nil {
		return &Connection{own}, nil
	}
	bus, err := systemdbus.NewConnection(func() (*dbus.Conn, error) {
		c, err := dial(ctx, root, busSocket)
		if err != nil {
			return nil, err
		}
		if err := c.Hello(); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	})
	if err != nil {
		return nil, fmt.Errorf("reach the node's systemd: own socket: %w; system bus: %w", ownErr, err)
	}
	return &Connection{bus}, nil
}

func dial(ctx context.Context, root, socket string) (*dbus.Conn, error) {
	c, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(filepath.Join(root, socket)), dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if err := c.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *Connection) Close() { c.conn.Close() }

// Reload is systemctl daemon-reload.
func (c *Connection) Reload(ctx context.Context) error { return c.conn.ReloadContext(ctx) }

// Source is a unit's FragmentPath.
func (c *Connection) Source(ctx context.Context, unit string) (string, error) {
	return c.text(ctx, unit, "FragmentPath")
}

// State is a unit's ActiveState.
func (c *Connection) State(ctx context.Context, unit string) (string, error) {
	return c.text(ctx, unit, "ActiveState")
}

func (c *Connection) text(ctx context.Context, unit, name string) (string, error) {
	p, err := c.conn.GetUnitPropertyContext(ctx, unit, name)
	if err != nil {
		return "", err
	}
	text, ok := p.Value.Value().(string)
	if !ok {
		return "", fmt.Errorf("%s of %s is %s", name, unit, p.Value)
	}
	return text, nil
}

// Restart queues a restart, which starts what does not run.
func (c *Connection) Restart(ctx context.Context, unit string) error {
	_, err := c.conn.RestartUnitContext(ctx, unit, "replace", nil)
	return err
}

// Stop queues a stop.
func (c *Connection) Stop(ctx context.Context, unit string) error {
	_, err := c.conn.StopUnitContext(ctx, unit, "replace", nil)
	if absent(err) {
		return nil
	}
	return err
}

// Enable is systemctl enable.
func (c *Connection) Enable(ctx context.Context, unit string) error {
	_, changes, err := c.conn.EnableUnitFilesContext(ctx, []string{unit}, false, false)
	if err != nil || len(changes) == 0 {
		return err
	}
	return c.Reload(ctx)
}

// Disable is systemctl disable.
func (c *Connection) Disable(ctx context.Context, unit string) error {
	changes, err := c.conn.DisableUnitFilesContext(ctx, []string{unit}, false)
	if absent(err) || err == nil && len(changes) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return c.Reload(ctx)
}

func absent(err error) bool {
	var e dbus.Error
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &e) && (strings.HasSuffix(e.Name, ".NoSuchUnit") || strings.HasSuffix(e.Name, ".FileNotFound"))
}
