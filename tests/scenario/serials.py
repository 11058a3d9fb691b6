"""The names of passes in a wallet, derived as the service derives them, so that no package is needed."""
import base64
import hashlib
import hmac
import subprocess

SERIALS, TOKENS = "stampede wallet serial numbers 1", "stampede wallet authentication tokens 1"
BYTES = 16  # of a link's token


def derived(master, purpose):
    """HKDF-SHA256 of 32 bytes without a salt."""
    extracted = hmac.digest(bytes(32), master, hashlib.sha256)
    return hmac.digest(extracted, purpose.encode() + b"\x01", hashlib.sha256)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token_of(link):
    """The bytes at the end of a download_url."""
    return base64.urlsafe_b64decode(link.rsplit("/", 1)[1] + "==")


def names_of_tokens(master, tokens):
    """(serial number, authentication token) of each pass, by the tokens of their links, one behind the other."""
    blocks = subprocess.run(["openssl", "enc", "-aes-256-ecb", "-nopad", "-K", derived(master, SERIALS).hex()], input=tokens,
                            check=True, capture_output=True).stdout
    key = derived(master, TOKENS)
    for at in range(0, len(tokens), BYTES):
        token = tokens[at:at + BYTES]
        yield base64url(blocks[at:at + BYTES]), base64url(hmac.digest(key, token, hashlib.sha256))
