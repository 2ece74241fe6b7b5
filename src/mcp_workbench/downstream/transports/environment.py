"""What a downstream server gets to see of the workbench's own environment."""

import re
from collections.abc import Mapping

from mcp_workbench.config.models import StdioServer

_BASIC = frozenset(
    {
        # What the SDK gives every stdio server on POSIX, and on Windows.
        *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
        *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE"),
        *("SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "COMSPEC", "WINDIR", "PROGRAMFILES", "PROGRAMDATA"),
        # Without these npx and uvx fail behind a company proxy.
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT"),
        # And without these programs speak the wrong language, tell the wrong time and fill the wrong disk.
        *("LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP"),
        # Where things are, which is no secret: a screen, the user's directories, what tools and runtimes keep where.
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS"),
        *("KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"),
        *("JAVA_HOME", "GRADLE_USER_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "GOPATH", "GOROOT", "GOBIN"),
        *(
            "NVM_DIR",
            "NVM_BIN",
            "FNM_DIR",
            "VOLTA_HOME",
            "BUN_INSTALL",
            "DENO_DIR",
            "PNPM_HOME",
            "ASDF_DIR",
            "MISE_DATA_DIR",
        ),
        *(
            "PYENV_ROOT",
            "CONDA_PREFIX",
            "UV_CACHE_DIR",
            "PIPX_HOME",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "RBENV_ROOT",
            "GEM_HOME",
        ),
        *("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"),
        *("CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CONFIG_DIR", "PUPPETEER_EXECUTABLE_PATH"),
        *("PLAYWRIGHT_BROWSERS_PATH", "CHROME_PATH", "NIX_PATH", "NIX_PROFILES", "HOMEBREW_PREFIX", "WSL_DISTRO_NAME"),
        *("PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "ALLUSERSPROFILE", "PUBLIC", "OS", "COMPUTERNAME"),
    }
)

_VARIABLE = re.compile(r"(?<!\w)[A-Z_][A-Z0-9_]{2,}(?!\w)")
NOT_PASSED = re.compile(r"^([A-Z_][A-Z0-9_]*) is set here, but was not passed to it", re.MULTILINE)
"""Finds in a reason what `missing_variable_hint` added to it, and the variable that it names."""


def server_environment(config: StdioServer, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of one server: the basics, what it may inherit, and its own `env` over both.

    Other servers' secrets stay out, and so do exported shell functions, which would be run by the next shell.
    """
    inherited = {
        name: value for name, value in environ.items() if _is_inherited(config, name) and not value.startswith("()")
    }
    return {**inherited, **config.env}


def missing_variable_hint(said: str, passed: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
    """What to say of a variable that a server names, that is set in our environment and that it was not given."""
    named = (name for name in _VARIABLE.findall(said) if environ.get(name) and name not in passed)
    if (name := next(named, None)) is None:
        return None
    return f'{name} is set here, but was not passed to it: add "env": {{"{name}": "${{{name}}}"}} to its entry'


def _is_inherited(config: StdioServer, name: str) -> bool:
    if config.inherit_env is True or name.upper() in _BASIC or name.startswith("LC_"):
        return True
    return not isinstance(config.inherit_env, bool) and name in config.inherit_env
