package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/nodekeeper/nodekeeper/test/node/machine/control"
)

// memory in MiB; the node takes less than half of it.
const memory = 2048

// emulator is the process that is the machine.
type emulator struct {
	process *os.Process
	done    chan struct{} // closed when it has ended
	err     error         // set before done is closed
}

// acceleration is "kvm" where the processor has it. A device file alone proves
// nothing: within some virtual machines it is there and every guest hangs.
func acceleration() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "tcg"
	}
	_, flags, _ := strings.Cut(string(info), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	for flag := range strings.FieldsSeq(flags) {
		if flag == "vmx" || flag == "svm" {
			if device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
				device.Close()
				return "kvm"
			}
		}
	}
	return "tcg"
}

// arguments of an emulator that has a disk, a console, the serial port, and
// nothing else: no network.
func arguments(kernel, image, socket, console, acceleration string) []string {
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot",
		"-machine", "q35", "-accel", acceleration, "-cpu", "max",
		"-smp", fmt.Sprint(min(runtime.NumCPU(), 4)), "-m", fmt.Sprint(memory),
		"-kernel", kernel,
		"-append", "root=/dev/nvme0n1 rootfstype=ext4 rw console=ttyS0 panic=-1 mitigations=off systemd.unified_cgroup_hierarchy=1",
		"-serial", "file:" + console,
		"-drive", "if=none,id=disk,format=raw,cache=unsafe,file=" + image, "-device", "nvme,drive=disk,serial=node",
		"-chardev", "socket,id=control,server=on,wait=off,path=" + socket,
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=control,name=" + control.Port,
	}
}

// start returns when the process runs; it does not outlive this one.
func start(dir string, args []string) (*emulator, error) {
	errors, err := os.Create(filepath.Join(dir, "qemu.log"))
	if err != nil {
		return nil, err
	}
	defer errors.Close()
	e := &emulator{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The signal of a parent's death is that of the thread that started
		// the process.
		runtime.LockOSThread()
		command := exec.Command("qemu-system-x86_64", args...)
		command.Stderr = errors
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		err := command.Start()
		e.process = command.Process
		started <- err
		if err == nil {
			e.err = command.Wait()
			close(e.done)
		}
	}()
	return e, <-started
}

func (e *emulator) stop() {
	_ = e.process.Kill()
	<-e.done
}
