#!/bin/sh
# install [SECONDS]: puts nodekeeper's programs in place, out of the image that
# /etc/nodekeeper/image names, within so many seconds (90).
#
# The kubelet waits for it, so it ends in time, with 0, and with one line that
# says what it did. A node without its registry keeps the programs that it has.
set -u
export LC_ALL=C

bin=/usr/local/bin
wanted=/etc/nodekeeper/image
stamp=/var/lib/nodekeeper/installed
secret=/var/lib/kubelet/config.json
lock=/run/nodekeeper-install.lock
out=/run/nodekeeper-install.out
container=nodekeeper-install
new=$bin/.nodekeeper.new
newhook=$bin/.nodekeeper-hook.new

# The clock may jump while a node boots.
now() {
	read -r up _ </proc/uptime
	echo "${up%%.*}"
}

# within SECONDS COMMAND...: not longer than that, nor than all may take. What
# it starts must hold neither the lock nor a pipe that is waited for.
within() {
	limit=$1
	left=$((end - $(now)))
	shift
	[ "$limit" -le "$left" ] || limit=$left
	if [ "$limit" -le 0 ]; then
		echo "out of time" >"$out"
		return 124
	fi
	timeout -k 2 "$limit" "$@" </dev/null >"$out" 2>&1 9>&-
	rc=$?
	[ "$rc" -ne 124 ] && [ "$rc" -ne 137 ] || echo "no answer within $limit s" >>"$out"
	return "$rc"
}

# finally COMMAND...: what has to be done even when the time is up.
finally() {
	timeout -k 2 5 "$@" </dev/null >/dev/null 2>&1 9>&-
}

reason() {
	tail -n 1 "$out" 2>/dev/null | tr -cd '[:print:]' | cut -c 1-300
}

say() {
	echo "nodekeeper-install: $*"
}

# fail WHAT: the node keeps what it has.
fail() {
	why=$(reason)
	say "$1${why:+: $why}; $stays"
}

# later: another try, when nobody waits for it. There is one at most.
later() {
	finally systemctl stop 'nodekeeper-install-retry-*.timer'
	finally systemd-run --quiet --collect --unit="nodekeeper-install-retry-$(now)" --on-active=5min /bin/sh "$0" 600
}

# works PROGRAM HOOK: both can be run here; the program's version is in $version.
works() {
	version=
	# One that says no end of things must not fill /run.
	(ulimit -f 2048 && within 5 "$1" --version) || return 1
	version=$(sed -n 's/^nodekeeper version \([^ "\\]*\).*/\1/p' "$out")
	[ -n "$version" ] || return 1
	# The hook always ends with 0, if it can be run. Without input it does nothing.
	within 5 "$2" --journal=/dev/null
}

clean() {
	# An image may have directories of these names.
	rm -rf "$new" "$newhook" "$stamp.new"
	finally podman rm --force --ignore "$container"
}

# fetch: copies both programs out of the image, beside those in use.
fetch() {
	set --
	[ ! -e "$secret" ] || set -- --authfile "$secret"
	if ! within 10 podman image exists "$image" && ! within 600 podman pull --quiet "$@" "$image"; then
		fail "pull $image"
		return 1
	fi
	clean
	if ! {
		within 5 mkdir -p "$bin" &&
			within 15 podman create --net=none --pull=never --name "$container" "$image" &&
			within 60 podman cp "$container:/nodekeeper" "$new" &&
			within 60 podman cp "$container:/nodekeeper-hook" "$newhook" &&
			within 5 chown 0:0 "$new" "$newhook" &&
			within 5 chmod 0755 "$new" "$newhook" &&
			within 30 sync "$new" "$newhook"
	}; then
		fail "copy the programs out of $image"
		return 1
	fi
	# Copies keep the label of containers, which systemd may not run.
	if command -v restorecon >/dev/null && ! within 5 restorecon -F "$new" "$newhook"; then
		fail "label the programs"
		return 1
	fi
}

# place: both names change at once each, the hook's first. Its path is in every
# container that was made with it, and must always lead to a program. A directory
# of that name is told of; nothing is moved into it.
place() {
	if ! {
		within 5 mv -fT "$newhook" "$bin/nodekeeper-hook" &&
			within 5 mv -fT "$new" "$bin/nodekeeper" &&
			within 10 sync "$bin"
	}; then
		fail "put the programs in place"
		return 1
	fi
}

# note: what is in place. Without it, the next boot installs the same once more.
note() {
	if ! {
		within 5 mkdir -p -m 0700 "${stamp%/*}" &&
			printf '{"image":"%s","digest":"%s","version":"%s","time":"%s"}\n' \
				"$image" "$digest" "$version" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" 2>"$out" >"$stamp.new" &&
			within 10 sync "$stamp.new" &&
			within 5 mv -fT "$stamp.new" "$stamp"
	}; then
		fail "note what is installed"
		return 1
	fi
}

# begin: what runs goes on with the new program. What an admin has stopped stays
# so; on a node that had no program yet, it begins.
begin() {
	for unit in nodekeeper.service nodekeeper-proxy.service; do
		if [ "$had" = yes ]; then
			finally systemctl --no-block try-restart "$unit"
		elif finally systemctl is-enabled --quiet "$unit"; then
			finally systemctl --no-block start "$unit"
		fi
	done
}

install() {
	image=
	[ ! -f "$wanted" ] || read -r image 2>/dev/null <"$wanted"
	case $image in
	*[!A-Za-z0-9._:/@-]* | -* | '') digest= ;;
	?*@sha256:?*) digest=${image##*@} ;;
	*) digest= ;;
	esac
	had=no
	! works "$bin/nodekeeper" "$bin/nodekeeper-hook" || had=yes
	stays="there is no nodekeeper that works on this node"
	[ "$had" = no ] || stays="nodekeeper $version stays"
	if [ -z "$digest" ]; then
		: >"$out"
		fail "$wanted does not say IMAGE@sha256:DIGEST"
		return
	fi
	if [ "$had" = yes ] && [ -f "$stamp" ] && grep -qF "\"digest\":\"$digest\"" "$stamp" 2>/dev/null; then
		say "nodekeeper $version is in place"
		return
	fi
	# A node that has a program does not wait long for another one.
	if [ "$had" = yes ] && [ "$seconds" -gt 30 ] && ! finally systemctl is-active --quiet kubelet.service; then
		end=$(($(now) + 30))
	fi
	if ! fetch; then
		clean
		later
		return
	fi
	if ! works "$new" "$newhook"; then
		[ -n "$(reason)" ] || echo "it says nothing" >"$out"
		fail "the programs of $image do not work"
		clean
		return
	fi
	if ! place; then
		clean
		later
		return
	fi
	stays="nodekeeper $version is in place"
	! note || say "nodekeeper $version is installed"
	clean
	begin
}

alone() {
	end=$(($(now) + seconds))
	if ! flock -w "$seconds" 9; then
		say "another installation does not end; this one is left for later"
		later
		return
	fi
	# Whatever lies there is not written to.
	rm -rf "$out"
	install
	# The image may have been changed meanwhile.
	again=
	[ ! -f "$wanted" ] || read -r again 2>/dev/null <"$wanted"
	[ "$again" = "$image" ] || [ "$end" -le "$(now)" ] || install
}

seconds=${1:-90}
# For reading too: a FIFO in its place is not waited for.
alone 9<>"$lock" || say "cannot open $lock"
exit 0
