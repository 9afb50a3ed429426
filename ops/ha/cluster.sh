#!/usr/bin/env bash
# A PostgreSQL cluster that fails over by itself, from Debian 12's packages, all on this machine's loopback addresses: for tests, and
# to try the settings of docs/ha.md before real machines get them. `bash ops/ha/cluster.sh --help` has the commands.
set -euo pipefail

usage() {
  cat <<'END'
Usage: bash ops/ha/cluster.sh COMMAND DIR [MACHINE]

Runs three machines db1, db2 and db3, each with etcd, Patroni and PostgreSQL 15, and HAProxy before them, which leads to the
primary. They are processes on 127.0.0.11 to 127.0.0.13 and 127.0.0.10; all their files are in the folder DIR.

  start DIR            make the cluster in a new folder, or start one that was stopped; prints its DATABASE_URL
  stop DIR             stop all of it; the files stay
  show DIR             the state of all machines
  wait DIR             wait until all three serve, and one of them is a synchronous standby
  primary DIR          print the machine that is the primary
  switchover DIR       a planned one: the synchronous standby becomes the primary

Faults, of a MACHINE (db1, db2, db3 or haproxy):

  kill DIR MACHINE     end all its processes at once, as a power failure does; kill DIR MACHINE postgres ends PostgreSQL alone
  freeze DIR MACHINE   stop all its processes where they are; thaw DIR MACHINE lets them go on
  boot DIR MACHINE     start a machine that was killed

It needs Debian's packages etcd-server, patroni, postgresql-15 and haproxy; none of their services needs to run. As root, it runs
them as the user postgres, who must be able to enter the folders above DIR.
END
}

fail() {
  echo "cluster.sh: $*" >&2
  exit 1
}

machines=(db1 db2 db3)
programs=/usr/lib/postgresql/15/bin
declare -A address=([haproxy]=127.0.0.10 [db1]=127.0.0.11 [db2]=127.0.0.12 [db3]=127.0.0.13)

needed() {
  local package program
  while read -r package program; do
    command -v "$program" >/dev/null || fail "$package is not installed: apt-get install etcd-server patroni postgresql-15 haproxy"
  done <<END
etcd-server etcd
patroni patroni
postgresql-15 $programs/postgres
haproxy haproxy
END
}

# PostgreSQL refuses to be root. What a program's environment says must not change the configuration: etcd and Patroni read theirs.
as_user() {
  local who=()
  ((EUID == 0)) && who=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME="$dir" "${who[@]}" "$@"
}

# launch NAME COMMAND…: starts it in the background with a log and a file of its process id
launch() {
  local name=$1
  shift
  (
    cd /
    as_user setsid --fork bash -c 'echo $$ >"$0.pid"; exec "$@"' "$dir/$name" "$@" >>"$dir/$name.log" 2>&1 </dev/null
  )
}

# The process of a file, if it still runs and belongs to this folder: numbers are used again.
process() {
  local pid
  pid=$(head -n 1 "$1" 2>/dev/null) && [[ $pid ]] && grep -qsaF -- "$dir/" "/proc/$pid/cmdline" && echo "$pid"
}

# The children of processes, a line each (proc(5)).
children() {
  local pid
  for pid in "$@"; do
    cat "/proc/$pid/task/"*/children 2>/dev/null | tr ' ' '\n' | grep . || true
  done
}

# A machine's processes: those that were started, and all that came from them.
processes() {
  local found=() more pid
  for file in "$dir/$1"/*.pid "$dir/$1/data/postmaster.pid"; do
    if pid=$(process "$file"); then found+=("$pid"); fi
  done
  more=("${found[@]}")
  while ((${#more[@]} > 0)); do
    mapfile -t more < <(children "${more[@]}")
    found+=("${more[@]}")
  done
  ((${#found[@]} == 0)) || printf '%s\n' "${found[@]}" | sort -u
}

# Until no process is new: one may start another while the list is made.
freeze() {
  local before now=""
  until [[ $now && $now == "$before" ]]; do
    before=$now
    now=$(processes "$1" | tr '\n' ' ')
    [[ $now ]] || fail "$1 does not run"
    kill -STOP $now 2>/dev/null || true
  done
}

thaw() {
  local now
  now=$(processes "$1" | tr '\n' ' ')
  [[ -z $now ]] || kill -CONT $now 2>/dev/null || true
}

# All at once: PostgreSQL's backends must not finish what they do while their machine is dead.
kill_machine() {
  local now
  freeze "$1"
  now=$(processes "$1" | tr '\n' ' ')
  kill -KILL $now
  until [[ -z $(processes "$1") ]]; do sleep 0.05; done
}

kill_postgres() {
  local postmaster
  postmaster=$(process "$dir/$1/data/postmaster.pid") || fail "PostgreSQL does not run on $1"
  # It starts no more while it is stopped.
  kill -STOP "$postmaster"
  kill -KILL "$postmaster" $(children "$postmaster") 2>/dev/null || true
}

# The status of an HTTP answer, 0 without one.
status_of() {
  local line=""
  {
    exec 3<>"/dev/tcp/$1/$2" && printf 'GET %s HTTP/1.0\r\n\r\n' "$3" >&3 && IFS= read -r -t 2 line <&3
  } 2>/dev/null || true
  exec 3>&- || true
  [[ $line =~ ^HTTP/1\.[01]\ ([0-9]{3}) ]] && echo "${BASH_REMATCH[1]}" || echo 0
}

# primary, synchronous, replica or health: whether Patroni says that the machine is that
is() { [[ $(status_of "${address[$1]}" "$patroni_port" "/$2") == 200 ]]; }

primary() {
  for machine in "${machines[@]}"; do
    if is "$machine" primary; then
      echo "$machine"
      return
    fi
  done
  return 1
}

synchronous() {
  for machine in "${machines[@]}"; do
    if is "$machine" synchronous; then
      echo "$machine"
      return
    fi
  done
  return 1
}

# until_so SECONDS WHAT COMMAND…
until_so() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" &>/dev/null; do
    ((SECONDS < end)) || fail "$what: see the logs in $dir"
    sleep 0.2
  done
}

is_whole() {
  local replicas=0
  for machine in "${machines[@]}"; do
    if is "$machine" replica; then replicas=$((replicas + 1)); fi
  done
  ((replicas == 2)) && primary && synchronous
}

# Five ports that are free at all four addresses, below those that the system gives to connections (ip(7)).
choose_ports() {
  local base port host
  for _ in {1..50}; do
    base=$((15000 + RANDOM % 3000 * 5))
    for port in $(seq "$base" $((base + 4))); do
      for host in "${address[@]}"; do
        if (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null; then continue 3; fi
      done
    done
    echo "$base"
    return
  done
  fail "found no free ports"
}

password() { od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n'; }

configure() {
  [[ ! -e $dir || -z $(ls -A "$dir") ]] || fail "$dir is not empty, and has no cluster: name a new folder"
  mkdir -p "$dir"
  local base machine cluster="" hosts=""
  base=$(choose_ports)
  (umask 077; cat >"$dir/settings" <<END
etcd_port=$base
peer_port=$((base + 1))
patroni_port=$((base + 2))
postgres_port=$((base + 3))
haproxy_port=$((base + 4))
postgres_password=$(password)
replication_password=$(password)
deedhouse_password=$(password)
END
  )
  source "$dir/settings"
  (umask 077; echo "postgres://deedhouse:$deedhouse_password@${address[haproxy]}:$haproxy_port/deedhouse" >"$dir/database-url")
  (umask 077; echo "*:*:*:postgres:$postgres_password" >"$dir/pgpass")
  for machine in "${machines[@]}"; do
    cluster+="$machine=http://${address[$machine]}:$peer_port,"
    hosts+="${address[$machine]}:$etcd_port,"
  done
  echo "members=${cluster%,}" >>"$dir/settings"
  for machine in "${machines[@]}"; do
    mkdir -m 700 "$dir/$machine"
    (umask 077; patroni_settings "$machine" "${hosts%,}" >"$dir/$machine/patroni.yml")
  done
  mkdir -m 700 "$dir/haproxy"
  haproxy_settings >"$dir/haproxy/haproxy.cfg"
  if ((EUID == 0)); then chown -R postgres:postgres "$dir"; fi
}

# Patroni 3.0.2, Debian 12's, must not use etcd's v3 API. With it, a primary that was frozen for longer than the TTL takes the
# leader's key back from the machine that was promoted meanwhile, and what that one acknowledged is lost. Patroni's pull request 2689
# (https://github.com/patroni/patroni/pull/2689) says so, and is part of 3.0.3: "Make sure the leader key isn't unconditionally
# overwritten. It may happen that the leader heart-beat loop didn't run properly and the session has expired. In this case the leader
# may create a new session and a new leader key. But, there are chances that the other node already created a leader key and we don't
# want to overwrite it." So it is `etcd:` here, and etcd runs with --enable-v2.
patroni_settings() {
  cat <<END
scope: deedhouse
name: $1
restapi:
  listen: ${address[$1]}:$patroni_port
  connect_address: ${address[$1]}:$patroni_port
etcd:
  hosts: $2
# Needed on real machines (docs/ha.md): here Patroni may not use /dev/watchdog.
watchdog:
  mode: off
bootstrap:
  dcs:
    # At least loop_wait + 2 * retry_timeout.
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    # Strict, commits hang while there is no standby, clients give up, and their sessions stay.
    synchronous_mode_strict: false
    postgresql:
      # A primary that comes back goes on as a standby. It needs checksums, or wal_log_hints.
      use_pg_rewind: true
      pg_hba:
        - host all all 127.0.0.0/8 scram-sha-256
        - host replication replicator 127.0.0.0/8 scram-sha-256
      parameters:
        unix_socket_directories: ""
        password_encryption: scram-sha-256
        # The session of a client that has vanished keeps its locks until PostgreSQL notices.
        tcp_keepalives_idle: 5
        tcp_keepalives_interval: 5
        tcp_keepalives_count: 4
  initdb:
    - encoding: UTF8
    - locale: C.UTF-8
    - data-checksums
postgresql:
  listen: ${address[$1]}:$postgres_port
  connect_address: ${address[$1]}:$postgres_port
  data_dir: $dir/$1/data
  bin_dir: $programs
  pgpass: $dir/$1/pgpass
  basebackup:
    - checkpoint: fast
  authentication:
    superuser: { username: postgres, password: $postgres_password }
    replication: { username: replicator, password: $replication_password }
END
}

# Sessions idle for hours (LISTEN, locks), so no time-out may end one. Without an answer from Patroni for two seconds, a machine is not
# the primary, and its sessions end at once: its clients must not wait for a machine that does not answer.
haproxy_settings() {
  cat <<END
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  option clitcpka
  clitcpka-idle 5s
  clitcpka-intvl 5s
  clitcpka-cnt 4
  option srvtcpka
  srvtcpka-idle 5s
  srvtcpka-intvl 5s
  srvtcpka-cnt 4
listen primary
  bind ${address[haproxy]}:$haproxy_port
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
END
  for machine in "${machines[@]}"; do
    echo "  server $machine ${address[$machine]}:$postgres_port check port $patroni_port"
  done
}

boot() {
  local at=${address[$1]}
  [[ -z $(processes "$1") ]] || return 0
  if [[ $1 == haproxy ]]; then
    launch haproxy/haproxy haproxy -db -f "$dir/haproxy/haproxy.cfg"
    return
  fi
  launch "$1/etcd" etcd --enable-v2 --name "$1" --data-dir "$dir/$1/etcd" --initial-cluster "$members" \
    --listen-client-urls "http://$at:$etcd_port" --advertise-client-urls "http://$at:$etcd_port" \
    --listen-peer-urls "http://$at:$peer_port" --initial-advertise-peer-urls "http://$at:$peer_port"
  launch "$1/patroni" patroni "$dir/$1/patroni.yml"
}

sql() {
  as_user env PGPASSFILE="$dir/pgpass" "$programs/psql" --no-psqlrc --no-password --tuples-only --no-align --set ON_ERROR_STOP=1 \
    --host "${address[haproxy]}" --port "$haproxy_port" --username postgres --dbname postgres --quiet --command "$1"
}

make_database() {
  [[ $(sql "SELECT FROM pg_roles WHERE rolname = 'deedhouse'" | wc -l) == 1 ]] ||
    sql "CREATE ROLE deedhouse LOGIN PASSWORD '$deedhouse_password' IN ROLE pg_monitor"
  [[ $(sql "SELECT FROM pg_database WHERE datname = 'deedhouse'" | wc -l) == 1 ]] ||
    sql "CREATE DATABASE deedhouse OWNER deedhouse"
}

start() {
  needed
  [[ -e $dir/settings ]] || configure
  source "$dir/settings"
  for machine in "${machines[@]}" haproxy; do boot "$machine"; done
  until_so 90 "no machine became the primary" primary
  until_so 30 "HAProxy does not lead to the primary" sql "SELECT 1"
  make_database
  until_so 90 "the standbys did not start" is_whole
  cat "$dir/database-url"
}

stop() {
  local machine pid file
  for machine in haproxy "${machines[@]}"; do thaw "$machine"; done
  # Patroni stops PostgreSQL, and gives the leader's key back to etcd: so etcd stays until then.
  for what in haproxy patroni etcd; do
    for file in "$dir"/*/"$what".pid; do
      if pid=$(process "$file"); then kill -TERM "$pid"; fi
    done
    for file in "$dir"/*/"$what".pid; do
      for _ in {1..300}; do
        process "$file" >/dev/null || break
        sleep 0.1
      done
    done
  done
  for machine in haproxy "${machines[@]}"; do
    if [[ $(processes "$machine") ]]; then kill_machine "$machine"; fi
  done
}

show() {
  local machine at
  for machine in "${machines[@]}"; do
    at=${address[$machine]}
    echo "$machine: PostgreSQL $at:$postgres_port, Patroni $at:$patroni_port, etcd $at:$etcd_port (health $(status_of "$at" "$etcd_port" /health))"
  done
  echo "HAProxy: ${address[haproxy]}:$haproxy_port, process $(process "$dir/haproxy/haproxy.pid" || echo "none")"
  as_user timeout 20 patronictl --config-file "$dir/${machines[0]}/patroni.yml" list
}

switchover() {
  local from to
  from=$(primary) || fail "there is no primary"
  to=$(synchronous) || fail "there is no synchronous standby"
  as_user patronictl --config-file "$dir/$from/patroni.yml" switchover --leader "$from" --candidate "$to" --force
}

[[ ${1:-} != -h && ${1:-} != --help && ${1:-} != help ]] || { usage; exit 0; }
(($# >= 2)) || { usage >&2; exit 2; }
command=$1
dir=$(realpath -m -- "$2")
machine=${3:-}
if [[ $command != start ]]; then
  [[ -e $dir/settings ]] || fail "there is no cluster in $dir: make one with start"
  source "$dir/settings"
fi
case $command in
  kill | freeze | thaw | boot) [[ ${address[$machine]:-} ]] || fail "name a machine: ${machines[*]} or haproxy" ;;
esac
case $command in
  start | stop | show | switchover) "$command" ;;
  wait) until_so 90 "the cluster did not become whole" is_whole ;;
  primary) primary || fail "there is no primary" ;;
  freeze | thaw | boot) "$command" "$machine" ;;
  kill) case ${4:-} in
    postgres) kill_postgres "$machine" ;;
    "") kill_machine "$machine" ;;
    *) fail "only postgres can be killed alone" ;;
    esac ;;
  *) usage >&2; exit 2 ;;
esac
