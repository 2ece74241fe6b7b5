"""What a server is for, as far as its program or its address tells.

Only what is well known is recognised, and only by what is started or connected to, never by the name that somebody gave
it: a toolbox that claims to be for databases must hold databases.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import cast
from urllib.parse import urlsplit

from mcp_workbench.config.document import Json


@dataclass(frozen=True)
class Purpose:
    """A toolbox for servers of one kind."""

    toolbox: str
    description: str
    words: frozenset[str]


_PURPOSES = tuple(
    Purpose(toolbox, description, frozenset(words.split()))
    for toolbox, description, words in (
        (
            "code",
            "Source code: repositories, reviews and builds",
            "git github githubcopilot gitlab bitbucket gitea forgejo circleci jenkins sonarqube semgrep",
        ),
        (
            "web",
            "The web: searching, reading pages and driving a browser",
            "playwright puppeteer browserbase browsermcp chrome devtools fetch brave tavily exa firecrawl serper"
            " serpapi kagi duckduckgo searxng perplexity crawl4ai apify jina selenium hyperbrowser brightdata",
        ),
        (
            "databases",
            "Databases: looking at schemas and querying data",
            "postgres postgresql sqlite mysql mariadb mssql mongodb redis supabase neon bigquery snowflake clickhouse"
            " elasticsearch duckdb motherduck neo4j qdrant chroma pinecone weaviate dbhub prisma planetscale turso",
        ),
        (
            "files",
            "Files and folders",
            "filesystem gdrive dropbox onedrive",
        ),
        (
            "work",
            "Work with others: tickets, documents, messages and calendars",
            "linear jira atlassian confluence asana notion trello clickup monday slack discord teams gmail calendar"
            " todoist airtable obsidian basecamp shortcut intercom zendesk hubspot",
        ),
        (
            "documentation",
            "Documentation of libraries and products",
            "context7 deepwiki gitmcp",
        ),
        (
            "cloud",
            "Cloud and infrastructure: deployments, clusters and containers",
            "aws awslabs cloudflare kubernetes kubectl k8s terraform vercel netlify azure heroku docker portainer"
            " digitalocean pulumi gcloud",
        ),
        (
            "monitoring",
            "Monitoring: errors, metrics, logs and usage",
            "sentry grafana datadog newrelic honeycomb prometheus pagerduty axiom logfire posthog",
        ),
        (
            "thinking",
            "Remembering and thinking step by step",
            "memory sequential sequentialthinking mem0",
        ),
        (
            "design",
            "Design: drawings, components and images",
            "figma canva blender storybook",
        ),
        (
            "payments",
            "Payments and shops",
            "stripe paypal shopify",
        ),
    )
)
_RUNNERS = frozenset({"npx", "bunx", "uvx", "pipx", "npm", "pnpm", "yarn", "uv", "bun", "deno", "cmd"})
_RUNNER_WORDS = frozenset({"dlx", "exec", "run", "tool", "x", "/c"})
_CONTAINERS = frozenset({"docker", "podman"})
_WITH_VALUE = re.compile(
    r"-[evpwu]|--(?:env|volume|mount|name|network|publish|env-file|entrypoint|workdir|user|from|with|python|directory"
    r"|package|add-host|platform)"
)


def purpose_of(entry: Mapping[str, Json]) -> Purpose | None:
    """Return what the server of an entry is for, or None when that cannot be told."""
    words = _words(entry)
    return next((purpose for purpose in _PURPOSES if words & purpose.words), None)


def _words(entry: Mapping[str, Json]) -> frozenset[str]:
    text = _host(str(entry["url"])) if "url" in entry else _program(entry)
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _program(entry: Mapping[str, Json]) -> str:
    """The package, the image or the program: none of the arguments, which may be anything."""
    command = PurePath(str(entry.get("command")).replace("\\", "/")).name.lower()
    name = command.removesuffix(".exe").removesuffix(".cmd")
    args = entry.get("args") or []
    line = [str(arg) for arg in cast("Sequence[Json]", args)]
    if name in _RUNNERS:
        return _first_plain(line, _RUNNER_WORDS | _RUNNERS)
    if name in _CONTAINERS:
        return _first_plain(line, frozenset({"run", "container"}))
    if name.startswith("python") and line[:1] == ["-m"]:
        return line[1] if len(line) > 1 else ""
    if name in {"node", "python", "python3"}:
        return "/".join(PurePath(_first_plain(line, frozenset()).replace("\\", "/")).parts[-2:])
    return name


def _first_plain(words: Sequence[str], skipped: frozenset[str]) -> str:
    """The first word that is no option, no value of one and none of the words to skip."""
    before = ""
    for word in words:
        if not word.startswith("-") and not _WITH_VALUE.fullmatch(before) and word.lower() not in skipped:
            return re.sub(r"(?<=.)@[^/]*$", "", word)
        before = word
    return ""
