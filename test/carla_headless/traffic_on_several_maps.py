# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A program of a client: its traffic manager drives on map after map (``PORT MAP...``).

Prints for each map how far vehicles were from the middles of their lanes at most [m].
"""

from __future__ import annotations

import sys

import carla

_VEHICLES, _WAY_M, _MOST_FRAMES = 5, 15.0, 2000


def main() -> None:
    """Load each map, drive some metres there, and leave the traffic manager as it is."""
    port = int(sys.argv[1])
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    for name in sys.argv[2:]:
        world = client.load_world(name)
        roads = world.get_map()
        manager = client.get_trafficmanager(port + 50)
        manager.set_synchronous_mode(False)
        model = world.get_blueprint_library().find("vehicle.tesla.model3")
        places = roads.get_spawn_points()
        made = (world.try_spawn_actor(model, place) for place in places[:: len(places) // 8])
        cars = [car for car in made if car is not None][:_VEHICLES]
        world.wait_for_tick()
        starts = [car.get_location() for car in cars]
        for car in cars:
            car.set_autopilot(True, port + 50)
            manager.ignore_lights_percentage(car, 100.0)
        farthest, ways = 0.0, [0.0] * len(cars)
        for _ in range(_MOST_FRAMES):
            world.wait_for_tick()
            places_now = [car.get_location() for car in cars]
            for place in places_now:
                middle = roads.get_waypoint(place).transform.location
                farthest = max(farthest, place.distance_2d(middle))
            ways = [place.distance(start) for place, start in zip(places_now, starts, strict=True)]
            if min(ways) > _WAY_M:
                break
        print(name, len(cars), f"{min(ways):.1f}", f"{farthest:.2f}", flush=True)


if __name__ == "__main__":
    main()
