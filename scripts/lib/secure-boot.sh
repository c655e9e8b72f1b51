# Secure Boot: the kernel then takes only modules that are signed with a key that the firmware's owner has enrolled.

secure_boot_enabled() {
  local variable=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
  if command -v mokutil >/dev/null; then
    [[ $(mokutil --sb-state 2>/dev/null || true) == *'SecureBoot enabled'* ]]
  else
    # The value is the last of five bytes.
    [[ $(od -An -tu1 -j4 -N1 "$variable" 2>/dev/null) == *1 ]]
  fi
}

# The certificate with which DKMS signs what it builds.
signing_certificate() {
  local configured
  configured=$(cat /etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf 2>/dev/null |
    sed -n "s/^mok_certificate=[\"']\{0,1\}\([^\"']*\).*/\1/p" | tail -n 1)
  printf '%s' "${configured:-/var/lib/dkms/mok.pub}"
}

signing_key_enrolled() {
  # It ends with 1 where the key is enrolled.
  [[ $(mokutil --test-key "$(signing_certificate)" 2>/dev/null || true) == *'already enrolled'* ]]
}

# DKMS makes its key at the first build, which would be too late: the key must be enrolled before a module is loaded.
make_signing_key() {
  local certificate=/var/lib/dkms/mok.pub
  [[ ! -e $certificate && $(signing_certificate) == "$certificate" ]] || return 0
  (
    umask 077
    install -d -m 755 /var/lib/dkms
    quietly openssl req -new -x509 -nodes -days 36500 -subj "/CN=DKMS module signing key" -newkey rsa:2048 \
      -keyout /var/lib/dkms/mok.key -outform DER -out "$certificate"
  ) || fail "the key that signs modules could not be made" "see openssl's lines above"
}

# Nothing can enrol a key but a person at the console; so this stops before anything is changed, with the commands.
require_enrolled_key() {
  local tool=""
  secure_boot_enabled || return 0
  ! signing_key_enrolled || return 0
  make_signing_key
  command -v mokutil >/dev/null || tool="apt install mokutil; "
  fail "Secure Boot is on, and the key with which DKMS signs modules is not enrolled: the kernel would refuse the driver" \
    "on $(machine_name): ${tool}mokutil --import $(signing_certificate) (it asks for a password of your choice); reboot; at the console choose 'Enroll MOK', 'Continue', the password, 'Reboot'; then run \`up\` again. Or turn Secure Boot off in the firmware"
}
