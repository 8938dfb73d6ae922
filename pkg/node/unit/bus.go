package unit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// privateSocket is systemd's own; only root may use it. It has no logind.
const privateSocket = "unix:path=/run/systemd/private"

// errNoLogind is returned for what only the bus can reach.
var errNoLogind = errors.New("logind cannot be reached without the system bus")

// bus is systemd over a real connection.
type bus struct {
	*systemdbus.Conn
	// conns are the two connections behind Conn: for calls and for signals.
	conns []*dbus.Conn
	// logind tells that calls also reach logind: over the bus alone.
	logind bool
	// end ends both for good.
	end context.CancelFunc
}

// dialSystemd connects to the system bus, or as root to systemd itself.
func dialSystemd(ctx context.Context) (systemd, error) {
	system, busErr := connect(ctx, systemBus)
	if busErr == nil {
		system.logind = true
		return system, nil
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("systemd cannot be reached: system bus: %w", busErr)
	}
	private, err := connect(ctx, systemdSocket)
	if err != nil {
		return nil, fmt.Errorf("systemd cannot be reached, does it run here? own socket: %w; system bus: %w", err, busErr)
	}
	return private, nil
}

// connect makes a connection within ctx that lives on after it. D-Bus has no
// deadline for its handshake: ending the connection's own context is what
// unblocks one that hangs.
func connect(ctx context.Context, open func(life context.Context) (*dbus.Conn, error)) (*bus, error) {
	life, end := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, end)
	b := &bus{end: end}
	var err error
	b.Conn, err = systemdbus.NewConnection(func() (*dbus.Conn, error) {
		c, err := open(life)
		if err == nil {
			b.conns = append(b.conns, c)
		}
		return c, err
	})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, err
	}
	return b, nil
}

func systemBus(life context.Context) (*dbus.Conn, error) {
	c, err := dbus.SystemBusPrivate(dbus.WithContext(life))
	if err != nil {
		return nil, err
	}
	if err := authenticate(c); err != nil {
		return nil, err
	}
	if err := c.Hello(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func systemdSocket(life context.Context) (*dbus.Conn, error) {
	c, err := dbus.Dial(privateSocket, dbus.WithContext(life))
	if err != nil {
		return nil, err
	}
	return c, authenticate(c)
}

// authenticate gives the user by number: looking up the name may need the
// network.
func authenticate(c *dbus.Conn) error {
	err := c.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))})
	if err != nil {
		c.Close()
	}
	return err
}
