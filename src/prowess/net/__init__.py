"""One HTTP client, one guard of servers, and one set of rules for addresses."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._client import (
        DeadlineConnection as DeadlineConnection,
        HasCredentialsError as HasCredentialsError,
        HostRefusedError as HostRefusedError,
        HttpSource as HttpSource,
        HttpUrl as HttpUrl,
        Response as Response,
        connect_http as connect_http,
        parse_http_url as parse_http_url,
        server_url as server_url,
    )
    from ._request_guard import RequestGuard as RequestGuard, is_loopback as is_loopback
    from ._rules import (
        MAX_ADDRESSES as MAX_ADDRESSES,
        NetworkRules as NetworkRules,
        Refusal as Refusal,
        canonical_host as canonical_host,
        is_local_name as is_local_name,
        look_up_host as look_up_host,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
