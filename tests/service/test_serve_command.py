"""`metatne serve` as a process: it starts, answers, and stops in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from cli.running import MAIN
from metatne.client import Client
from service.towns import HOLDS

TOKEN = "0123456789abcdef-a-token"


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def test_it_answers_until_it_is_told_to_stop(town_model: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    process = start(
        town_model, town_model, "--port", 0, "--data", tmp_path / "data", "--token", token
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with Client(url, token=TOKEN) as client:
            deadline = time.monotonic() + 60
            while not client.is_ready():
                assert process.poll() is None, "it ended by itself"
                assert time.monotonic() < deadline, "it does not become ready"
                time.sleep(0.1)
            assert [model.name for model in client.models()] == ["town", "town-2"]
            assert "ego" in client.models()[0].can
            assert client.rank("town-2", positives=HOLDS).rows
            client.create_project("kept", "town", positives=HOLDS)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert (tmp_path / "data" / "projects.sqlite3").exists()
    assert "Traceback" not in err
    assert TOKEN not in err
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert {line["route"] for line in lines if line["message"] == "request"} > {"/ready"}
