#!/bin/sh
# dpkg says "configure" and the version that was there before, rpm how many are
# there now.
set -u
case ${1:-} in
configure | 1 | 2) ;;
*) exit 0 ;;
esac
before=${2:-}
[ "${1:-}" != 2 ] || before=some

[ ! -d /run/systemd/system ] || systemctl daemon-reload
if [ -n "$before" ]; then
	# What an admin has stopped stays so.
	[ ! -d /run/systemd/system ] || systemctl --no-block try-restart nodekeeper.service nodekeeper-proxy.service
	exit 0
fi
cat <<'HINT'
nodekeeper is installed and does nothing yet. To have it look at this node, keep
the logs of crashes, and say what it would restart:
  systemctl enable --now nodekeeper.service
  nodekeeper status
Its settings are in /etc/nodekeeper/config.yaml.
HINT
exit 0
