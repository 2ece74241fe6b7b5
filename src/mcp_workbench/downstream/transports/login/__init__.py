"""Logging in at remote servers (OAuth 2.1), and staying logged in.

`server_login.ServerLogin` is what a transport uses: it gives every request its credentials and hears of refusals. A
person logs in through `interactive`, with `discovery`, `registration`, `code_request` and `callback` as its steps;
`renewal` replaces tokens without a person; `store` keeps it all.

It stands beside the SDK's `OAuthClientProvider` and not on it. From 2.3 it uses what is pure: where metadata is looked
for, PKCE, how scopes are joined and resources compared. The rest could not be kept, for these reasons:

- The provider holds one lock from a request's first byte to its last, so calls to one server run one after another.
- Expiry is kept in memory only. After a restart a stored token that has expired counts as good; the 401 that follows
  leads to the browser, although its refresh token would do.
- So is the token endpoint. A refresh after a restart goes to `/token` at the server's own address, where often nothing
  is; and any answer but 200, a passing 503 too, throws the tokens away.
- Two processes refresh the same token: with rotation, the second one ends the login for both.
- A login begins in the middle of whatever request met the 401, with no way to show its address to somebody else.
- Endpoints may be any http address, answers may be of any length, and the log gets what an authorization server says.
- Its models refuse a whole document for one malformed address that no login needs, and say nothing of it.
"""
