#!/bin/sh
# kubelet-drop-in [off]: has the kubelet start through kubelet-wrapper.
#
# The command line of kubelet.service is the node's, with other flags in each
# release and on each platform, and no drop-in can add a flag to it. So this one
# is made anew at each boot, out of the unit as it is, below /run: what is not
# understood is left alone, and without nodekeeper the kubelet starts as it would.
set -u
export LC_ALL=C

wrapper=/usr/local/libexec/nodekeeper/kubelet-wrapper
dropin=/run/systemd/system/kubelet.service.d/90-nodekeeper.conf
unit=/run/nodekeeper-kubelet.unit

say() {
	echo "nodekeeper-kubelet: $*"
}

# bounded COMMAND...: the kubelet waits for it.
bounded() {
	timeout -k 1 5 "$@" </dev/null
}

# off: the kubelet starts directly the next time.
off() {
	rm -f "$dropin" "$dropin.new"
	bounded systemctl daemon-reload
}

# started: the one ExecStart= that holds; nothing if there are several. Comments
# within a continued line do not end it (systemd.syntax).
started() {
	awk '
		more && /^[ \t]*[#;]/ { next }
		{
			line = more ? line " " $0 : $0
			more = line ~ /\\$/
			if (more) { sub(/\\$/, "", line); next }
			sub(/^[ \t]+/, "", line)
			if (line ~ /^\[/) service = line ~ /^\[Service\]/
			else if (service && line ~ /^ExecStart[ \t]*=/) {
				sub(/^ExecStart[ \t]*=[ \t]*/, "", line)
				if (line == "") n = 0
				else { n++; start = line }
			}
		}
		END { if (n == 1) print start }
	' "$unit"
}

on() {
	rm -f "$dropin"
	if ! bounded systemctl cat kubelet.service >"$unit" 2>/dev/null; then
		say "there is no kubelet.service"
		return
	fi
	start=$(started)
	case $start in
	/*kubelet-wrapper*)
		say "kubelet.service has a wrapper already"
		return
		;;
	/*) ;;
	*)
		say "the command line of kubelet.service is not understood: it starts without the proxy"
		return
		;;
	esac
	mkdir -p "${dropin%/*}"
	# By the shell, which systemd may run whatever label the script has.
	printf '[Service]\nExecStart=\nExecStart=/bin/sh %s %s\n' "$wrapper" "$start" >"$dropin.new" &&
		mv -f "$dropin.new" "$dropin" && bounded systemctl daemon-reload &&
		[ "$(bounded systemctl show --property=LoadState --value kubelet.service)" = loaded ] && return
	say "kubelet.service cannot be extended: it starts without the proxy"
	off
}

case ${1:-} in
off) off ;;
*) on ;;
esac
exit 0
