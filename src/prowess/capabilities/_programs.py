"""List programs that the text of a skill may name, and words of shells that are no programs."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    """Return the words of a text, for tables."""
    return frozenset(text.split())


_NAMES = """
    7z act age airflow aider alembic amass android ansible ansible-playbook ant apk apt apt-get aptitude aria2c arp
    as asdf at awk aws az azd b2 babel base32 base64 bash bat bazel bc beeline bicep biome black brew bun bundle
    bunx bzip2 cabal cargo cast cat cdk certbot cfssl chmod chown chroot circleci clang clang-format clang-tidy
    claude cline cmake code codex codeql composer conda copilot cosign cp cpan cpanm createdb crontab csh csvtool
    curl cursor cursor-agent cwebp d2 dart dash dbt dd deno depmod df diff dig direnv dmesg docker docker-compose
    doctl dot dotnet doppler dpkg drush du dvc ed eksctl elixir emacs erl esbuild eslint exiftool expo fastlane fd
    ffmpeg ffprobe find firebase fish flake8 flutter fly flyctl forge fswebcam ftp fzf g++ gcc gcloud gdb gem gemini
    gh ghc git git-lfs gitleaks gizmosql glab go gofmt goose gpg gpg2 gradle graphviz grep grpcurl grype gs gsutil
    gunzip gzip helm heroku hg hostname htop http httpie hugging-face huggingface-cli hf hydra iconv ifconfig
    inkscape ip iptables ipython irb iwr irm iex jar java javac jest jq julia jupyter just k3d k6 k9s keytool kill
    killall kind kotlinc ksh kubectl kustomize last lftp lighthouse linkerd lldb ln locust logrotate ls lsblk lscpu
    lsof ltrace lua luarocks lynx magick mail make man mas masscan mdfind mermaid meson minikube mix mkfifo
    mongodump mongosh mongo mosquitto_pub mount msbuild mutt mv mvn mypy mysql mysqldump nano nc ncat ncdu netcat
    netlify netsh netstat nginx ngrok nikto ninja nix nix-env nix-shell nmap nmcli node nohup npm npx nslookup
    ntpdate nuget numfmt nvcc nvidia-smi nx objdump ocaml ollama op opa open opencode openssl osascript packer
    pandoc parallel pass patch pbcopy pbpaste pdfinfo pdftk pdftoppm pdftotext perl pg_dump pg_restore php phpunit
    pi ping pip pip3 pipenv pipx pkg-config pkill playwright plutil pm2 pnpm pnpx podman poetry powershell pprof
    prettier prisma prowess ps psql pulumi puppeteer pwsh pylint pyright pytest python python2 python3 qemu-img qpdf
    quarto qwen R rails rake rclone redis-cli reg regedit regsvr32 rg rm rmdir rmmod rsync rsvg-convert rtk ruby
    ruff rundll32 rustc rustup sam sbt scala scp screen scrot sdkmanager security sed semgrep sentry-cli serverless
    service sftp sg sh sha256sum shasum shellcheck shred shutdown skopeo snyk socat soffice sops sox spark-submit
    sqlcmd sqlite3 ss ssh ssh-add ssh-copy-id ssh-keygen ssh-keyscan stack strace strings stripe su sudo supabase
    svn swift swiftlint syft sysctl systemctl tail tar task taskkill tcpdump tcsh tee telnet terraform terragrunt
    tesseract tflint tmux top touch tox trivy truffle trufflehog tsc tshark tsx turbo twine typst ufw umount unshare
    unzip useradd usermod uv uvx vagrant vault vercel vi vim vite vitest volta w3m wasm-pack webpack wget which
    whoami winget wireshark wmic wrangler wsl xargs xattr xcodebuild xcrun xdg-open xdotool xelatex xxd xz yarn yq
    yt-dlp yum zip zsh zstd zypper schtasks certutil bitsadmin mshta cscript wscript net cmd setx attrib icacls
    takeown
"""
PROGRAMS = listed(_NAMES)
"""Programs by the names that people type."""
_AMBIGUOUS = """
    act as at code d2 dash diff dot ed expo find fly forge go goose hydra ip just kill last make man mas open op
    pass patch pi security service sg screen stack strings swift tail task top touch turbo volta which age cursor
    cast claude codex copilot gemini cline qwen node bat net reg mix nix meson R cat hf http mail
"""
WORDS = listed(_AMBIGUOUS)
"""Programs whose names are words, too: they count if something follows them that only a command has."""
_SHELL = """
    if then else elif fi for while until do done case esac in function select time coproc alias bg bind break
    builtin caller cd command compgen complete continue declare dirs disown echo enable eval exec exit export fc fg
    getopts hash help history jobs let local logout mapfile popd printf pushd pwd read readonly return set shift
    shopt source suspend test times trap true type typeset ulimit umask unalias unset wait false begin end param
    foreach throw try catch finally switch class write-host write-output write-error write-verbose write-warning
    set-location join-path test-path get-location pause rem setlocal endlocal goto call
"""
SHELL_WORDS = listed(_SHELL)
"""Keywords and commands of shells, which start no program."""
ORDINARY = listed(
    """
    basename comm cut date dirname expr file head id less ls mkdir mktemp more nproc printenv realpath readlink rev seq
    sleep sort stat tac tail test tr uname uniq wc which
    """
)
"""Programs of every shell that only look at what they get: they are no capability."""
ORDINARY_IMPORTS = listed(
    """
    __future__ abc argparse array bisect collections contextlib copy csv dataclasses datetime decimal difflib enum
    fractions functools heapq io itertools json logging math operator pathlib pprint random re statistics string sys
    textwrap time traceback types typing typing_extensions unicodedata unittest uuid warnings zoneinfo assert events
    path querystring string_decoder util url
    """
)
"""Modules of Python and Node.js that reach nothing outside the program."""
PREFIXES = listed(
    """
    if then else elif while until do time exec command builtin nohup sudo doas env nice ionice timeout stdbuf xargs
    """
)
"""Words before the name of a program."""
NETWORK_PROGRAMS = frozenset(
    (
        *(
            "curl",
            "wget",
            "aria2c",
            "http",
            "httpie",
            "iwr",
            "irm",
            "invoke-webrequest",
            "invoke-restmethod",
            "nc",
            "ncat",
        ),
        *(
            "netcat",
            "socat",
            "telnet",
            "ssh",
            "scp",
            "sftp",
            "rsync",
            "ftp",
            "lftp",
            "git",
            "svn",
            "hg",
            "docker",
            "podman",
        ),
        *(
            "pip",
            "pip3",
            "uv",
            "npm",
            "npx",
            "pnpm",
            "yarn",
            "bun",
            "deno",
            "ping",
            "dig",
            "nslookup",
            "nmap",
            "openssl",
        ),
        *(
            "grpcurl",
            "yt-dlp",
            "rclone",
            "certutil",
            "bitsadmin",
            "start-bitstransfer",
            "mosquitto_pub",
            "psql",
            "mysql",
        ),
        *(
            "redis-cli",
            "mongosh",
            "helm",
            "brew",
            "open",
            "xdg-open",
            "lynx",
            "w3m",
            "skopeo",
            "grype",
            "trivy",
            "cosign",
        ),
    )
)
"""Programs that reach the hosts that are named beside them."""
PREFIXED = (
    *(
        "invoke-",
        "get-",
        "new-",
        "set-",
        "start-",
        "stop-",
        "remove-",
        "add-",
        "import-",
        "export-",
        "install-",
        "copy-",
    ),
    *("move-", "out-", "register-", "enable-", "disable-", "send-", "clear-", "update-", "connect-", "convert"),
)
"""How the commands of PowerShell begin."""
