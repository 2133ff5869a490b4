# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A program of its own that reads the entities of a run all the time, and may change them.

Usage: ``entity_client.py read|change``. It plays a run that stands at its start. With ``change`` a
vehicle is spawned before the leader, pushed and deleted while the run goes on. It ends with the
run, and prints how often it has read.
"""

from __future__ import annotations

import sys
from typing import Any

import rclpy
from simulation_interfaces import msg, srv

CHANGES = ("spawn", "set", "delete")


class Client:
    """Calls services of a run."""

    def __init__(self) -> None:
        rclpy.init()
        self._node = rclpy.create_node("entity_client")
        self._clients: dict[str, Any] = {}

    def call(self, kind: Any, service: str, patience_s: float = 20.0, **fields: Any) -> Any:
        """The answer of a service; None: the run is over."""
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self._node.create_client(kind, f"/cosim/{service}")
            if not client.wait_for_service(60.0):
                raise SystemExit(f"{service} is not there")
        future = client.call_async(kind.Request(**fields))
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=patience_s)
        return future.result() if future.done() else None


def change(client: Client, what: str, ahead: float) -> int:
    """Make one change; its code."""
    if what == "spawn":
        asked = srv.SpawnEntity.Request(name="box")
        asked.entity_resource.uri = "vehicle.tesla.model3"
        asked.initial_pose.header.frame_id = "leader"
        asked.initial_pose.pose.position.x = ahead
        names = ("name", "entity_resource", "initial_pose")
        given = {name: getattr(asked, name) for name in names}
        answer = client.call(srv.SpawnEntity, "spawn_entity", **given)
    elif what == "set":
        state = msg.EntityState()
        state.twist.linear.x = 8.0
        given = {"entity": "box", "state": state, "set_twist": True}
        answer = client.call(srv.SetEntityState, "set_entity_state", **given)
    else:
        answer = client.call(srv.DeleteEntity, "delete_entity", entity="box")
    return int(answer.result.result)


def main() -> int:
    """Play, read, change."""
    client = Client()
    changes = list(CHANGES) if sys.argv[1] == "change" else []
    playing = msg.SimulationState(state=msg.SimulationState.STATE_PLAYING)
    client.call(srv.GetEntitiesStates, "get_entities_states")
    assert client.call(srv.SetSimulationState, "set_simulation_state", state=playing)
    reads = 0
    while (found := client.call(srv.GetEntitiesStates, "get_entities_states", 2.0)) is not None:
        reads += 1
        leader = found.states[found.entities.index("leader")]
        time = leader.header.stamp.sec + leader.header.stamp.nanosec / 1e9
        if changes and time > 3.0 - len(changes):
            what = changes.pop(0)
            print(what, change(client, what, 60.0), flush=True)
    print("reads", reads, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
