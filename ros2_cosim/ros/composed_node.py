# SPDX-License-Identifier: Apache-2.0
"""Shape ``composed``: all participants in one process, their topics still published.

The sequential scheduler runs the participants; every message is also published, and
``/clock`` follows, so that RViz, bags and other nodes see the same as in shape ``ros``.
"""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.sequential import SequentialScheduler
from ros2_cosim.kernel.time import split_stamp
from ros2_cosim.realtime.pacing import Pacer
from ros2_cosim.ros import topics
from ros2_cosim.ros.clock_message import encode_clock
from ros2_cosim.ros.recorder_node import Sink
from ros2_cosim.ros.session import Session, Writer, data_qos, message_class

#: ``/clock`` moves at least so often [ns of simulated time].
CLOCK_STEP_NS = 10_000_000
#: While the next time is further away than this, the middleware is served meanwhile [ns].
_NEAR_NS = 2_000_000


class ComposedNode:
    """Publishes what a sequential run sends, and the clock.

    :param session: the ROS node
    :param graph: the checked system
    :param topic_of: (participant, output port) -> (topic, ROS type)
    :param sink: recorder of the messages
    :param timer: monotonic wall clock [ns]
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        *,
        topic_of: Callable[[str, str], tuple[str, str]],
        sink: Sink,
        timer: Callable[[], int],
    ) -> None:
        self._session = session
        self._sink = sink
        self._timer = timer
        self._clock = session.node.create_publisher(
            message_class(topics.CLOCK_TYPE), topics.CLOCK, data_qos()
        )
        self._writers: dict[str, list[Writer]] = {}
        #: Wall time [ns] spent on publishing and recording.
        self.transport_ns = 0
        for name, spec in graph.participants.items():
            writers = []
            for port in spec.outputs:
                assert isinstance(port.codec, WireCodec)
                topic, _ = topic_of(name, port.name)
                latched = port.schedule == "once"
                writers.append(Writer(session.node, topic, port.codec, data_qos(latched=latched)))
            self._writers[name] = writers

    def observe(self, participant: str, port: int, sample: Sample, data: bytes) -> None:
        """Publish and record one message; the observer of the scheduler."""
        started = self._timer()
        writer = self._writers[participant][port]
        writer.send_bytes(data)
        self._sink.write(writer.topic, sample.stamp, sample.seq, writer.plain(data))
        self.transport_ns += self._timer() - started

    def run(
        self,
        scheduler: SequentialScheduler,
        duration_ns: int,
        pacer: Pacer | None,
        progress: Callable[[int], None],
        held: Callable[[], bool] = lambda: False,
    ) -> int:
        """Run to the end, in steps of the clock.

        :param pacer: the wall clock of the run, None for as fast as possible
        :param progress: called with the simulated time [ns] after each step and while waiting
        :param held: whether somebody is paused, so that nobody may go on
        :returns: the end of the run [ns]
        :raises Stopped: the process was asked to end
        """
        if pacer is not None:
            pacer.start()
        reached, end = 0, duration_ns
        while reached < end:
            reached = min(reached + CLOCK_STEP_NS, end)
            before = pacer.wait if pacer else None
            end = scheduler.run(reached, end, before=before)
            while held():
                since = self._timer()
                self._session.wait(0.05)
                progress(scheduler.now)
                if pacer is not None:
                    # A paced run does not catch up on a pause.
                    pacer.slip(self._timer() - since)
                if not held():
                    end = scheduler.run(reached, end, before=before)
            reached = min(reached, end)
            self._sink.advance(reached)
            self._clock.publish(encode_clock(*split_stamp(reached)))
            progress(reached)
            self._session.wait(0.0)
            if pacer is not None:
                while (ahead := pacer.due(reached) - pacer.clock.now()) > _NEAR_NS:
                    self._session.wait(min((ahead - _NEAR_NS) / 1e9, 0.05))
                    progress(reached)
        return end
