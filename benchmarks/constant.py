"""A program that answers with constants: the same server and framework, and nothing behind them.

`/detail` and `/page` return a value, as any route does, and FastAPI makes JSON of it each time;
posted to, they read a body first.
`/detail/bytes` and `/page/bytes` return bytes that were made before: the least that the framework
can do for an answer of that size.
"""

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI, Response


@contextlib.contextmanager
def answering(detail: Any, page: Any) -> Iterator[int]:
    """Such a program for the length of a `with`, and the port where it answers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.constant"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        process.stdin.write(json.dumps({"detail": detail, "page": page}).encode())
        process.stdin.close()
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def make(detail: Any, page: Any) -> FastAPI:
    """The application."""
    app = FastAPI()
    for path, told in (("/detail", detail), ("/page", page)):
        _add(app, path, told)
    return app


def _add(app: FastAPI, path: str, told: Any) -> None:
    rendered = json.dumps(told, separators=(",", ":")).encode()

    @app.get(path)
    async def value() -> Any:
        return told

    @app.post(path, status_code=201)
    async def made(body: dict[str, Any]) -> Any:
        return told

    @app.get(f"{path}/bytes")
    async def prepared() -> Response:
        return Response(rendered, media_type="application/json")


def main() -> None:
    told = json.load(sys.stdin)
    bound = socket.create_server(("127.0.0.1", 0))
    print(bound.getsockname()[1], flush=True)
    config = uvicorn.Config(
        make(told["detail"], told["page"]),
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
    )
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
