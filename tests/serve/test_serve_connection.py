import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from edgnn.serve._connection import patient_only


class Timer:
    def __init__(self, call):
        self.call, self.canceled = call, False

    def cancel(self):
        self.canceled = True


class Loop:
    """A loop whose time passes only when a test says so."""

    def __init__(self):
        self.timers = []

    def call_later(self, seconds, call):
        self.timers.append(Timer(call))
        return self.timers[-1]

    def pass_time(self):
        due, self.timers = self.timers, []
        for timer in due:
            if not timer.canceled:
                timer.call()


class Transport(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.untaken, self.aborted, self.closed = 0, False, False

    def get_write_buffer_size(self):
        return self.untaken

    def abort(self):
        self.aborted = True

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


@pytest.fixture
def connection():
    """A connection whose request has arrived; its loop and its transport."""
    config = uvicorn.Config(lambda *_: None, log_level="critical", timeout_keep_alive=30)
    protocol = patient_only(5)(
        config=config, server_state=ServerState(), app_state={}, _loop=Loop()
    )
    protocol.connection_made(Transport())
    protocol._stop()
    return protocol, protocol.loop, protocol.transport


def test_an_answer_that_is_not_taken_ends_the_connection(connection):
    protocol, loop, transport = connection
    transport.untaken = 100
    protocol.on_response_complete()
    loop.pass_time()
    assert transport.aborted


def test_an_answer_that_waits_for_one_not_taken_ends_the_connection(connection):
    protocol, loop, transport = connection
    transport.untaken = 100_000
    protocol.pause_writing()
    loop.pass_time()
    assert transport.aborted


def test_a_connection_that_is_being_closed_does_not_wait_for_its_reader(connection):
    protocol, loop, transport = connection
    transport.untaken, transport.closed = 100, True
    protocol.on_response_complete()
    loop.pass_time()
    assert transport.aborted


def test_an_answer_taken_in_time_leaves_the_connection_as_it_is(connection):
    protocol, loop, transport = connection
    transport.untaken = 100
    protocol.on_response_complete()
    transport.untaken = 0
    loop.pass_time()
    assert not transport.aborted


def test_every_answer_has_the_whole_time(connection):
    protocol, loop, transport = connection
    transport.untaken = 100
    protocol.on_response_complete()
    first, loop.timers = loop.timers, []
    protocol.on_response_complete()
    for timer in first:
        if not timer.canceled:
            timer.call()
    assert not transport.aborted
    loop.pass_time()
    assert transport.aborted


def test_nothing_is_left_of_a_connection_that_is_lost(connection):
    protocol, loop, transport = connection
    transport.untaken = 100
    protocol.on_response_complete()
    protocol.connection_lost(None)
    loop.pass_time()
    assert not transport.aborted
