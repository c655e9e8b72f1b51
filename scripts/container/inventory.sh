# What somebody put into a container by hand: units that run a Python server, Python environments with their packages,
# models below the bind mounts. It only looks, and reads no file that is meant for secrets (EnvironmentFile=).
#
# uses: step json
# arguments: mounts=/P,… (optional, where the container's bind mounts are), root (optional, another root than /, for tests)
# facts: see cli/adopt/facts.ts

step_check() {
  :
}

root() {
  argument root ""
}

# Units of the administrator's that may run a server, and are not of a stack.
candidate_units() {
  local file
  for file in "$(root)"/etc/systemd/system/*.service; do
    [[ -f $file && ! -L $file ]] || continue
    ! grep -q '/var/lib/proxmox-gpu-stack\|/etc/proxmox-gpu-stack' "$file" || continue
    grep -qE 'sglang|launch_server|python|vllm' "$file" || continue
    basename "$file"
  done
}

# running_words PID: its command line as a JSON list; empty when it does not run.
running_words() {
  local words=()
  if [[ $1 =~ ^[1-9][0-9]*$ && -r /proc/$1/cmdline ]]; then
    mapfile -t -d '' words <"/proc/$1/cmdline"
  fi
  json_list ${words[@]+"${words[@]}"}
}

units() {
  local name
  while IFS= read -r name; do
    printf '{"name":%s,"state":%s,"enabled":%s,"text":%s,"running":%s}\n' "$(json_string "$name")" \
      "$(json_string "$(systemctl show --property=ActiveState --value "$name")")" \
      "$(json_string "$(systemctl is-enabled "$name" 2>/dev/null || true)")" \
      "$(json_string "$(systemctl cat --no-pager "$name" 2>/dev/null)")" \
      "$(running_words "$(systemctl show --property=MainPID --value "$name")")"
  done < <(candidate_units)
}

# What is installed in an environment, NAME==VERSION a line, by the folders that installers leave.
packages_in() {
  find "$1"/lib/python3*/site-packages -maxdepth 1 -name '*.dist-info' -printf '%f\n' 2>/dev/null |
    sed -E 's/^(.*)-([^-]*)\.dist-info$/\1==\2/' | LC_ALL=C sort -u
}

# Environments where people put them; not those that a stack built, and not the depths of a home.
environments() {
  local file folder packages
  while IFS= read -r file; do
    folder=${file%/pyvenv.cfg}
    mapfile -t packages < <(packages_in "$folder")
    printf '{"path":%s,"python":%s,"packages":%s}\n' "$(json_string "${folder#"$(root)"}")" \
      "$(json_string "$(sed -nE 's/^version(_info)? *= *([0-9]+\.[0-9]+).*/\2/p' "$file" | head -n 1)")" \
      "$(json_list ${packages[@]+"${packages[@]}"})"
  done < <(find "$(root)"/root "$(root)"/opt "$(root)"/srv "$(root)"/home -xdev -maxdepth 4 -name pyvenv.cfg \
    -not -path "$(root)/opt/proxmox-gpu-stack/*" 2>/dev/null | LC_ALL=C sort)
}

# The commit that a download by the hub's own tools left beside a file.
revision_of() {
  local note=$1/.cache/huggingface/download/config.json.metadata
  if [[ -r $note ]]; then
    head -n 1 "$note"
  else
    sed -nE 's#.*/snapshots/([0-9a-f]{40})$#\1#p' <<<"$1"
  fi
}

models() {
  local mount file folder
  while IFS= read -r mount; do
    while IFS= read -r file; do
      folder=${file%/config.json}
      printf '{"path":%s,"revision":%s}\n' "$(json_string "${folder#"$(root)"}")" "$(json_string "$(revision_of "$folder")")"
    done < <(find -L "$(root)$mount" -maxdepth 6 -name config.json -not -path '*/.*' 2>/dev/null | LC_ALL=C sort)
  done < <(argument mounts "" | tr ',' '\n' | grep . || true)
}

# Version of NVIDIA's libraries in the container; empty: none.
driver_libraries() {
  find "$(root)"/usr/lib -name 'libcuda.so.[0-9]*.*' -printf '%f\n' 2>/dev/null | sed 's/^libcuda\.so\.//' | sort -V | tail -n 1
}

step_facts() {
  fact units "$(list units)"
  fact environments "$(list environments)"
  fact models "$(list models)"
  fact driverLibraries "$(driver_libraries)"
}
