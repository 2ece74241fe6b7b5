"""What a downstream server gets to see of the workbench's own environment."""

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
    }
)


def server_environment(config: StdioServer, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of one server: the basics, what it may inherit, and its own `env` over both.

    Other servers' secrets stay out, and so do exported shell functions, which would be run by the next shell.
    """
    inherited = {
        name: value for name, value in environ.items() if _is_inherited(config, name) and not value.startswith("()")
    }
    return {**inherited, **config.env}


def _is_inherited(config: StdioServer, name: str) -> bool:
    if config.inherit_env is True or name.upper() in _BASIC or name.startswith("LC_"):
        return True
    return not isinstance(config.inherit_env, bool) and name in config.inherit_env
