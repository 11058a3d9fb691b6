"""What a server without credentials for wallets shows of them: nothing."""
import pytest


@pytest.mark.parametrize("path", ["/robots.txt", "/wallet/", "/wallet/badges/apple.svg", "/wallet/badges/google.svg",
                                  "/wallet/apple/acc_mfrqaaaaaaaaaaaa/v1/log"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_no_path_of_wallets_exists_without_them(service, method, path):
    client = service.client()
    got, other = client.request(method, path), client.request(method, "/no-such-path")
    assert (got.status, got.headers.keys()) == (404, other.headers.keys())
    if method != "HEAD":
        assert {**got.json, "request_id": ""} == {**other.json, "request_id": ""}
    client.close()
