#!/bin/sh
# Install the system packages that a task of the Makefile needs and this machine lacks.
#
#   system_packages.sh PROGRAM...           install what is missing; if that is not possible, print the command to type
#   system_packages.sh --advice PROGRAM...  only print one line: what is missing and the command to type
#
# Nothing is printed if nothing is missing. Packages are installed with apt-get or dnf, as root or with a sudo that
# asks for no password. A program that stays missing is a failure with CI=true; `venv` always is, as nothing works
# without it.
set -u

# PROGRAM: sets `apt` and `dnf` to the names of its package and `purpose` to what needs it.
describe() {
    case $1 in
        bwrap) apt=bubblewrap dnf=bubblewrap purpose='commands of skills run in its sandbox' ;;
        chromium) apt=chromium dnf=chromium purpose='the tests of reports open them in it' ;;
        libatomic) apt=libatomic1 dnf=libatomic purpose="the program that drives chromium in tests uses it" ;;
        git) apt=git dnf=git-core purpose='the tests of the git tool use it' ;;
        openssl) apt=openssl dnf=openssl purpose='the tests of HTTPS make a certificate with it' ;;
        zsh) apt=zsh dnf=zsh purpose='the tests of completion use it' ;;
        fish) apt=fish dnf=fish purpose='the tests of completion use it' ;;
        postgres) apt=postgresql dnf=postgresql-server purpose='the tests of stored conversations start a server of their own' ;;
        docker-registry) apt=docker-registry dnf=docker-distribution purpose='the tests of registries start one of their own' ;;
        skopeo) apt=skopeo dnf=skopeo purpose='the tests of registries read with it what was published' ;;
        socat) apt=socat dnf=socat purpose='the sandbox of Claude Code uses it' ;;
        venv)  # Debian has one for each version of Python
            apt=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])') || apt=python3-venv
            dnf=python3 purpose='it makes virtual environments' ;;
        *) echo "system_packages.sh: unknown program: $1" >&2; exit 2 ;;
    esac
    if [ "$manager" = dnf ]; then package=$dnf; else package=$apt; fi
}

# PROGRAM: succeeds if it is here; bubblewrap must also be able to run a command in a sandbox.
works() {
    case $1 in
        venv) "$python" -c 'import ensurepip, venv' 2>/dev/null ;;
        bwrap) [ "$(uname -s)" != Linux ] || { command -v bwrap >/dev/null && sandbox_works; } ;;
        chromium) { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null ;;
        libatomic) [ "$(uname -s)" != Linux ] || "$python" -c 'import ctypes; ctypes.CDLL("libatomic.so.1")' 2>/dev/null ;;
        docker-registry) { command -v docker-registry || command -v registry; } >/dev/null ;;
        postgres)  # systems do not put it on PATH
            for binary in /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb; do
                if [ -x "$binary" ]; then return; fi
            done
            command -v initdb >/dev/null ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# Sets `reason` to what bubblewrap says if it fails.
sandbox_works() {
    set -- --unshare-all --new-session --cap-drop ALL --proc /proc --dev /dev --tmpfs /tmp --remount-ro /proc
    for folder in /usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /gnu/store; do
        if [ -d $folder ]; then set -- "$@" --ro-bind $folder $folder; fi
    done
    reason=$(bwrap "$@" -- /bin/sh -c 'exit 7' 2>&1 </dev/null)
    [ $? = 7 ] || { reason=$(printf %s "${reason:-it exits without a word}" | head -n 1 | sed 's/^bwrap: //'); false; }
}

# PROGRAM...: sets `missing` and `packages` to what can be installed, `names` to a list in words, and `broken`.
look() {
    missing='' packages='' names='' broken=''
    for program in "$@"; do
        if works "$program"; then continue; fi
        describe "$program"
        if [ "$program" = bwrap ] && command -v bwrap >/dev/null; then broken=bwrap; continue; fi
        missing="$missing $program" packages="$packages $package"
        case $names in
            '') names=$package verb='is missing; install it' ;;
            *' and '*) names="${names% and *}, ${names##* and } and $package" verb='are missing; install them' ;;
            *) names="$names and $package" verb='are missing; install them' ;;
        esac
    done
}

# Prints what `look` found, in one line.
advice() {
    line=''
    if [ -n "$missing" ]; then
        command="$manager install$packages"
        if [ -z "$manager" ]; then line="$names $verb with the package manager of this system"
        elif [ "$(id -u)" = 0 ]; then line="$names $verb with: $command"
        elif command -v sudo >/dev/null; then line="$names $verb with: sudo $command"
        else line="$names $verb with: su -c '$command'"
        fi
    fi
    if [ -n "$broken" ]; then
        line="${line:+$line; }bubblewrap does not work ($reason); $(remedy)"
    fi
    if [ -n "$line" ]; then echo "$line"; fi
}

# Prints how to allow bubblewrap what it needs.
remedy() {
    while read -r setting closed open; do
        if [ "$(cat "/proc/sys/$setting" 2>/dev/null)" = "$closed" ]; then
            echo "allow it with: sudo sysctl -w $(echo "$setting" | tr / .)=$open"
            return
        fi
    done <<-END
	kernel/apparmor_restrict_unprivileged_userns 1 0
	kernel/unprivileged_userns_clone 0 1
	user/max_user_namespaces 0 15000
	END
    echo 'allow it to make user namespaces (in Docker: --security-opt seccomp=unconfined)'
}

# Installs `packages`, without a question.
install_packages() {
    if [ "$(id -u)" = 0 ]; then root=''
    elif sudo -n true; then root='sudo -n'
    else return 1
    fi
    # shellcheck disable=SC2086  # lists of words
    case $manager in
        apt-get)
            set -- $root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1
            # A new machine has no list of packages yet.
            "$@" install --no-install-recommends $packages || { "$@" update && "$@" install --no-install-recommends $packages; } ;;
        dnf) $root dnf -q -y --setopt=install_weak_deps=False install $packages ;;
        *) return 1 ;;
    esac </dev/null
}

python=${PYTHON:-python3}
manager=''
for name in apt-get dnf; do
    if [ -z "$manager" ] && command -v $name >/dev/null; then manager=$name; fi
done

if [ "${1-}" = --advice ]; then
    shift
    look "$@"
    advice
    exit
fi
look "$@"
if [ -n "$missing" ] && [ -n "$manager" ] && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
    for program in $missing; do
        describe "$program"
        echo "make: installing $package with $manager: $purpose" >&2
    done
    output=$(install_packages 2>&1) || printf '%s\n' "$output" | uniq | tail -n 3 | sed "s/^/make: $manager: /" >&2
    look "$@"
fi
if [ -n "$missing$broken" ]; then
    echo "make: $(advice)" >&2
    case "$missing " in *' venv '*) exit 1 ;; esac
    if [ "${CI-}" = true ]; then exit 1; fi
fi
