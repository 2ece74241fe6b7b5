"""Which certificates are trusted: those of the system, and those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.

On Windows and macOS the system itself judges. On Linux its bundle is loaded once: asking OpenSSL anew for every
connection, as `truststore` does there, lets the context grow.
"""

import os
import ssl
import sys
from functools import cache

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",  # older RHEL
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine, BSD
)


def tls_context() -> ssl.SSLContext:
    """The context for connections to remote servers; made once.

    Raises:
        OSError: A file that the environment names cannot be read.
    """
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context(extra_file: str | None, extra_directory: str | None) -> ssl.SSLContext:
    context = _system_context()
    if extra_file or extra_directory:
        context.load_verify_locations(extra_file or None, extra_directory or None)
    return context


def _system_context() -> ssl.SSLContext:
    if sys.platform in ("win32", "darwin"):
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    built_in = ssl.get_default_verify_paths()
    bundle = next(filter(os.path.isfile, (built_in.openssl_cafile, *_BUNDLES)), None)
    directory = built_in.openssl_capath if os.path.isdir(built_in.openssl_capath) else None
    if bundle or directory:
        context.load_verify_locations(bundle, directory)
    return context
