#!/bin/sh
# A worker without TypeScript: it claims runs of the workflows named below through Holdfast's SQL functions, and needs
# nothing but psql. DATABASE_URL=postgres://… sh examples/worker.sh
#
#   holdfast.reserve(worker, workflows, max, lease) -> id, token, workflow, attempt, input, …
#   holdfast.ack(id, token, output)                    it is done
#   holdfast.nack(id, token, after, permanent, reason) it is due again, or has failed for good
#   holdfast.extend(id, token, lease)                  it takes longer
#
# A claim whose lease is over is another's to take; what is said of it then is refused with SQLSTATE WF004 or WF005.
set -u
# Claims are decided at read committed, whatever the database's default is.
export PGOPTIONS="${PGOPTIONS:-} -c default_transaction_isolation=read\\ committed"
worker=$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)
trap 'is_stopping=1' TERM INT
is_stopping=

ask() { # SQL with psql's variables, which it quotes; one row as fields with a tab between
  psql "$DATABASE_URL" -X -q -A -t -F "$(printf '\t')" -v ON_ERROR_STOP=1 -v worker="$worker" "$@" -f -
}

reserve() {
  ask <<'SQL'
select id, token, workflow, attempt, translate(input::text, E'\t\r\n', '   ')
from holdfast.reserve(:'worker', array['measure', 'refuse'], lease => '30 s')
SQL
}

ack() {
  ask -v id="$1" -v token="$2" -v output="$3" <<'SQL'
select holdfast.ack(:'id', :'token', :'output')
SQL
}

nack() {
  ask -v id="$1" -v token="$2" -v permanent="$3" -v reason="$4" <<'SQL'
select holdfast.nack(:'id', :'token', permanent => :'permanent', reason => :'reason')
SQL
}

run() { # workflow, attempt, input as JSON -> output as JSON, or a reason and an exit code: 1 again, 2 never
  case $1 in
    measure) printf '{"bytes": %d}' "$(printf '%s' "$3" | wc -c)" ;;
    refuse) printf 'refused at attempt %s' "$2"; [ "$2" -lt 2 ] && return 1; return 2 ;;
  esac
}

while [ -z "$is_stopping" ]; do
  reserved=$(reserve) || { sleep 1; continue; }
  [ -n "$reserved" ] || { sleep 0.2; continue; }
  IFS=$(printf '\t') read -r id token workflow attempt input <<END
$reserved
END
  answer=$(run "$workflow" "$attempt" "$input"); code=$?
  case $code in
    0) ack "$id" "$token" "$answer" ;;
    1) nack "$id" "$token" false "$answer" ;;
    *) nack "$id" "$token" true "$answer" ;;
  esac
done
