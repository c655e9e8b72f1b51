# Run one inference service: install its files, start it, and hold it to its health gate. When a changed service fails
# the gate, the last good files and environment come back and serve again; a first one that fails is left stopped.
# A service that is not enabled gets its files only, and is stopped when it runs.
#
# uses: step files packages inference-service replaced-unit
# arguments: name, unit, python (interpreter of its environment), environment (the link), target (what it must point
#            to), restart=DIGEST (of all that a running process was started with), gate=DIGEST (of that and of the gate's
#            specification), spec (path of the gate's specification), user (account that runs it; may be root),
#            home (its folder for caches), enabled=true|false, arguments (of the server: shown in previews, used through
#            the unit), replaces (optional, a hand-made unit that this one takes the place of)
# secrets: serviceApiKey (optional)
# texts: every file of the service under its absolute path
# facts: mainPid, healthy

enabled() {
  [[ $(argument enabled) == true ]]
}

# Absolute paths of the texts that travelled, in a stable order.
service_files() {
  printf '%s\n' "${!FILES[@]}" | grep '^/' | sort
}

secret_folder() {
  printf '/etc/proxmox-gpu-stack/services/%s' "$(argument name)"
}

api_key() {
  printf '%s' "${SECRETS[serviceApiKey]:-}"
}

# The server reads its key from a file of arguments: a command line is open to everybody on the machine.
secret_arguments() {
  printf 'api-key: %s\n' "$(json_string "$(api_key)")"
}

check_secret() {
  if [[ -n $(api_key) ]]; then
    # Compared without ever showing it.
    same_text "$(secret_folder)/api-key" "$(api_key)" || differs "the API key is not the declared one"
  elif [[ -e $(secret_folder)/api-key ]]; then
    differs "an API key is on the machine, none is declared"
  fi
}

# What the running server was started with; a changed key restarts it as well, and never shows in a command line.
wanted_running() {
  printf '%s %s' "$(argument restart)" "$(api_key | sha256sum | cut -c1-16)"
}

step_check() {
  local path probe=""
  while IFS= read -r path; do
    if [[ $path != "$LIBRARY"/* ]]; then
      check_text "$path" "${FILES[$path]}"
    elif ! same_text "$path" "${FILES[$path]}"; then
      probe=differs
    fi
  done < <(service_files)
  [[ -z $probe ]] || differs "the probe package in $LIBRARY is not as declared"
  check_secret
  [[ $(readlink "$(argument environment)" 2>/dev/null) == "$(argument target)" ]] ||
    differs "$(argument environment) does not point to $(argument target)"
  if enabled; then
    check_running
  else
    check_stopped
  fi
}

check_running() {
  systemctl is-enabled --quiet "$(unit)" 2>/dev/null || differs "$(unit) is not enabled"
  [[ $(property ActiveState) == active ]] || differs "$(unit) is $(property ActiveState)"
  [[ $(recorded running) == "$(wanted_running)" ]] || differs "$(unit) was not started with what is declared"
  [[ $(recorded good) == "$(argument gate)" ]] || differs "$(unit) has not passed its health gate"
  check_replaced
}

check_stopped() {
  local name
  while IFS= read -r name; do
    ! systemctl is-enabled --quiet "$name" 2>/dev/null || differs "$name is enabled"
    [[ $(systemctl show --property=ActiveState --value "$name") == inactive ]] || differs "$name is not stopped"
  done < <(unit && printf '\n' && timers)
}

make_account() {
  local user home
  user=$(argument user)
  home=$(argument home)
  # Another service's step may be making the same account.
  if [[ $user != root ]]; then
    (
      flock 9
      getent passwd "$user" >/dev/null ||
        useradd --system --user-group --home-dir "$home" --shell /usr/sbin/nologin "$user"
    ) 9>/run/lock/proxmox-gpu-stack-accounts || fail "the account $user could not be made"
  fi
  install -d -m 755 /var/lib/proxmox-gpu-stack /var/lib/proxmox-gpu-stack/services "$(record)"
  install -d -m 750 -o "$user" -g "$(id -gn "$user")" "$home"
}

# systemd says what it does not understand on stderr only; the exit code is 0 all the same.
verify_unit() {
  local folder problems path
  folder=$(mktemp -d)
  while IFS= read -r path; do
    [[ $path == /etc/systemd/system/* ]] && printf '%s' "${FILES[$path]}" >"$folder/${path##*/}"
  done < <(service_files)
  problems=$(systemd-analyze verify --man=no "$folder"/*.service 2>&1 >/dev/null | grep -F "$folder" || true)
  rm -rf "$folder"
  [[ -z $problems ]] || fail "systemd does not accept the unit: $problems" "this is a fault of the program: report it with this text"
}

install_service_files() {
  local path
  while IFS= read -r path; do
    if [[ $path == /etc/proxmox-gpu-stack/* ]]; then
      put_text "$path" 640 "${FILES[$path]}"
      chgrp "$(id -gn "$(argument user)")" "$path"
    else
      put_text "$path" 644 "${FILES[$path]}"
    fi
  done < <(service_files)
  if [[ -n $(api_key) ]]; then
    put_text "$(secret_folder)/api-key" 600 "$(api_key)"
    put_text "$(secret_folder)/arguments.yaml" 600 "$(secret_arguments)
"
  else
    rm -f "$(secret_folder)/api-key" "$(secret_folder)/arguments.yaml"
  fi
}

timers() {
  local path
  while IFS= read -r path; do
    [[ $path == /etc/systemd/system/*.timer ]] && printf '%s\n' "${path##*/}"
  done < <(service_files)
  return 0
}

# What serves now and passed its gate is kept, whole: as the last good version, and as what passed with this environment.
keep_as_good() {
  local aside passed path
  passed=$(record)/passed/$(basename "$(argument target)")
  aside=$(record)/passed.next
  rm -rf "$aside"
  while IFS= read -r path; do
    install -d "$(dirname "$aside/files$path")"
    cp --preserve=mode,ownership "$path" "$aside/files$path"
  done < <(service_files)
  put_text "$aside/good" 644 "$(argument gate)"
  put_text "$aside/good-running" 600 "$(wanted_running)"
  put_text "$aside/environment" 644 "$(argument target)"
  rm -rf "$passed"
  install -d "$(record)/passed"
  mv -T "$aside" "$passed"
  take_as_good "$passed"
}

# 0 when the last good version serves again.
roll_back() {
  say "rolling back to the last version that passed its gate"
  put_back_good && start_service && pass_gate
}

give_up() {
  local cause=$1
  show_journal
  if [[ -n $(recorded good) ]]; then
    if roll_back; then
      fail "$cause" "the last good version serves again; correct the stack and run \`up\`"
    fi
    fail "$cause; and the last good version does not pass its gate any more" "see the lines above and: journalctl -u $(unit)"
  fi
  systemctl disable --quiet "$(unit)" 2>/dev/null || true
  systemctl stop "$(unit)" || true
  rm -f "$(record)/running"
  if bring_replaced_back; then
    fail "$cause" "$(replaced) was started again; correct the stack and run \`up\`"
  fi
  fail "$cause" "the service is stopped, nothing restarts behind your back; correct the stack and run \`up\`"
}

# The probe first: it must not find a server on its way down, and start it again.
stop_service() {
  local timer
  while IFS= read -r timer; do
    systemctl disable --quiet --now "$timer"
    systemctl stop "${timer%.timer}.service"
  done < <(timers)
  say "stopping $(unit): it is not enabled"
  systemctl disable --quiet --now "$(unit)"
  systemctl reset-failed "$(unit)" 2>/dev/null || true
  rm -f "$(record)/running"
}

step_apply() {
  make_account
  verify_unit
  install_service_files
  point_environment "$(argument target)"
  systemctl daemon-reload
  if enabled; then
    run_service
  else
    stop_service
  fi
}

run_service() {
  local timer
  stop_replaced
  if [[ $(property ActiveState) != active || $(recorded running) != "$(wanted_running)" ]]; then
    put_text "$(record)/running" 600 "$(wanted_running)"
    start_service || give_up "$(start_problem)"
  fi
  say "waiting for $(unit) to pass its health gate"
  pass_gate || give_up "$(unit) does not pass its health gate: $GATE_REASONS"
  systemctl enable --quiet "$(unit)"
  retire_replaced
  while IFS= read -r timer; do
    systemctl enable --quiet --now "$timer"
  done < <(timers)
  keep_as_good
}

step_facts() {
  fact mainPid "$(property MainPID)"
  fact healthy "$(if enabled && [[ $(recorded good) == "$(argument gate)" ]]; then echo true; else echo false; fi)"
}

step_remove() {
  local path timer
  while IFS= read -r timer; do
    systemctl disable --quiet --now "$timer" 2>/dev/null || true
  done < <(timers)
  systemctl disable --quiet --now "$(unit)" 2>/dev/null || true
  while IFS= read -r path; do
    [[ $path == "$LIBRARY"/* ]] || rm -f "$path"
  done < <(service_files)
  rm -rf "$(secret_folder)" "$(record)"
  systemctl daemon-reload
  say "taken away: $(unit) and its files; environment and model stay"
}
