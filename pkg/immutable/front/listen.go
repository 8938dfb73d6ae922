package front

import (
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// Listen takes the listener that systemd has for this process, or else opens
// the address. systemd keeps its own while the process restarts, so that
// connections wait for the next one.
func Listen(address string) (l net.Listener, fromSystemd bool, err error) {
	handed, err := activation.Listeners()
	if err != nil {
		return nil, false, fmt.Errorf("take the listener from systemd: %w", err)
	}
	switch len(handed) {
	case 0:
		l, err = net.Listen("tcp", address)
	case 1:
		l, fromSystemd = handed[0], true
	default:
		err = fmt.Errorf("systemd hands over %d listeners instead of one", len(handed))
	}
	if err != nil {
		return nil, false, fmt.Errorf("listen for the kubelet: %w", err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, false, errors.New("listen for the kubelet: what systemd hands over is no TCP socket")
	}
	if at, ok := tcp.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = l.Close()
		return nil, false, fmt.Errorf("listen for the kubelet: %s is not a loopback address", l.Addr())
	}
	return l, fromSystemd, nil
}
