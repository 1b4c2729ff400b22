# Sourced by the other scripts: goes to the root of the checkout and defines how to print messages.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# Tests start hundreds of Pythons. If a machine's setting keeps them from saving what they compile,
# each compiles the whole package again, and the suite takes three times as long.
unset PYTHONDONTWRITEBYTECODE

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'
else
  bold='' red='' plain=''
fi

say() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }

give_up() {
  printf '%s%s%s\n' "$red" "$*" "$plain" >&2
  exit 2
}

need_venv() { [ -x .venv/bin/pytest ] || give_up "Not set up yet: run 'make setup' first."; }
