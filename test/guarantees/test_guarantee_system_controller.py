# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A system controller stops or aborts the run for all participants, from any process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, Running, left_processes, user_environment
from support.lifecycle_models import MS, SCENARIO
from support.onlooker import Onlooker

from ros2_cosim.ros.bringup.dds import loopback_environment

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")


@pytest.mark.parametrize("command", ["abort", "stop"])
@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_all_hear_of_it(
    shape: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from std_srvs.srv import SetBool

    from ros2_cosim.ros.node.session import Session
    from ros2_cosim.ros.node.system_controller import SystemController

    log = tmp_path / "log"
    log.mkdir()
    file = tmp_path / "held.yaml"
    file.write_text(SCENARIO.format(log=log, hold_at=100 * MS), encoding="utf-8")
    with user_environment(tmp_path / "ros") as environment, ThreadPoolExecutor(1) as pool:
        environment["PYTHONPATH"] += f":{ROOT / 'test'}"
        for key, value in loopback_environment(environment, tmp_path).items():
            monkeypatch.setenv(key, value)
        with Session("commander") as session:
            onlooker, controller = Onlooker(session), SystemController(session.node)

            def release(data: bool) -> bool:
                request = SetBool.Request(data=data)
                return bool(onlooker.call(SetBool, "/holder/release", request).success)

            with Running(
                environment, file, "--shape", shape, "--out", tmp_path / "out", "--no-bag"
            ) as running:
                end = pool.submit(running.result)
                onlooker.until(lambda: controller.ready, "a run that takes commands")
                onlooker.until(lambda: release(False), "the step at 100 ms")
                answer = getattr(controller, command)("had enough")
                if command == "stop":
                    # It is answered while the step is open, and the step is part of the results.
                    onlooker.until(answer.done, "the answer")
                    assert answer.result().success
                    # The process may end before its answer to this has arrived.
                    client = session.node.create_client(SetBool, "/holder/release")
                    onlooker.until(client.service_is_ready, "the service of holder")
                    client.call_async(SetBool.Request(data=True))
                onlooker.until(lambda: answer.done() or end.done(), "the answer")
                onlooker.until(end.done, "the end of the run")
                result = end.result()
        assert not left_processes(environment)
    calls = {path.name: path.read_text().splitlines() for path in log.iterdir()}
    assert set(calls) == {"holder", "server", "asker"}
    if command == "abort":
        assert "had enough" in result.error()
        assert {name: lines[-1] for name, lines in calls.items()} == dict.fromkeys(
            calls, "on_abort RUNNING"
        )
    else:
        assert result.code == 0, result
        assert "had enough" in result.stdout
        assert all(lines[-2:] == ["on_stop", "on_shutdown"] for lines in calls.values())
        # The end is earlier than that of a run left alone.
        assert "step 280" not in calls["asker"]
        if shape == "composed":
            # No participant has advanced to a later time.
            steps = [line for lines in calls.values() for line in lines if line.startswith("step")]
            assert "step 100" in steps
            assert "step 110" not in steps
