# SPDX-License-Identifier: Apache-2.0
"""The local broker and its records, against the real thing."""

from __future__ import annotations

import os
import signal
import socket
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from headrace.errors import KafkaDiedError, KafkaRequestError, KafkaStartError
from headrace.local import Broker, Partition, Record, Topics
from headrace.local.ports import HOST, answers
from headrace.testing import Kafka


def port_of(bootstrap: str) -> int:
    return int(bootstrap.rpartition(":")[2])


class TestRecords:
    def test_a_record_comes_back_as_it_was_written(self, kafka: Kafka) -> None:
        topic = kafka.topic(partitions=3)
        record = Record(
            key=b"key",
            value=b"value",
            headers=(("name", b"1"), ("name", None), ("other", b"\xff")),
            partition=2,
            timestamp_ms=1_700_000_000_123,
        )
        kafka.produce(topic, [record])
        (read,) = kafka.read(topic)
        assert read == Record(
            key=record.key,
            value=record.value,
            headers=record.headers,
            partition=2,
            timestamp_ms=record.timestamp_ms,
            offset=0,
        )

    def test_tombstones_and_missing_keys_stay_what_they_are(self, kafka: Kafka) -> None:
        topic = kafka.topic(partitions=1)
        kafka.produce(
            topic, [Record(key=b"gone", value=None), Record(key=None, value=b""), Record(key=b"", value=b"v")]
        )
        assert [(r.key, r.value) for r in kafka.read(topic)] == [(b"gone", None), (None, b""), (b"", b"v")]

    def test_the_order_within_a_partition_is_kept(self, kafka: Kafka) -> None:
        topic = kafka.topic(partitions=2)
        kafka.produce(topic, [Record(value=str(n).encode(), partition=n % 2) for n in range(10_000)])
        records = kafka.read(topic)
        for partition in (0, 1):
            values = [int(r.value or b"") for r in records if r.partition == partition]
            assert values == list(range(partition, 10_000, 2))

    def test_a_record_of_two_megabytes_fits(self, kafka: Kafka) -> None:
        topic = kafka.topic()
        value = os.urandom(2_000_000)
        kafka.produce(topic, [value])
        assert kafka.values(topic) == [value]

    def test_an_aborted_transaction_is_not_seen_by_committed_readers(self, kafka: Kafka) -> None:
        topic = kafka.topic(partitions=1)
        kafka.produce_transaction(topic, ["aborted"], commit=False)
        kafka.produce_transaction(topic, ["committed"])
        assert kafka.values(topic, committed=True) == [b"committed"]
        assert kafka.values(topic) == [b"aborted", b"committed"]

    def test_read_until_returns_what_comes_later(self, kafka: Kafka) -> None:
        topic = kafka.topic()
        writer = threading.Thread(target=kafka.produce, args=(topic, ["a", "b", "c"]))
        writer.start()
        assert len(kafka.read_until(topic, 3)) == 3
        assert kafka.read_until(topic, lambda records: any(r.value == b"c" for r in records))
        writer.join()

    def test_read_until_says_what_came_instead(self, kafka: Kafka) -> None:
        topic = kafka.topic()
        kafka.produce(topic, ["only"])
        with pytest.raises(AssertionError, match=rf"not within 0 s: topic '{topic}' gave [01] records"):
            kafka.read_until(topic, 2, timeout=timedelta(0))

    def test_a_refused_record_is_an_error(self, kafka: Kafka) -> None:
        topic = kafka.topic(config={"max.message.bytes": "1000"})
        with pytest.raises(KafkaRequestError, match="did not take every record"):
            kafka.produce(topic, [os.urandom(2000)])


class TestTopics:
    def test_a_topic_from_birth_to_death(self, kafka: Kafka) -> None:
        name = kafka.topic("life", partitions=1, config={"cleanup.policy": "compact"})
        assert name in kafka.topics.names()
        assert kafka.topics.describe(name).config["cleanup.policy"] == "compact"
        kafka.topics.grow(name, 3)
        assert kafka.topics.partitions(name) == [0, 1, 2]
        kafka.topics.delete(name)
        assert name not in kafka.topics.names()

    def test_truncate_moves_the_earliest_offset(self, kafka: Kafka) -> None:
        name = kafka.topic(partitions=1)
        kafka.produce(name, ["a", "b", "c"])
        kafka.topics.truncate(name, {0: 2})
        assert kafka.topics.describe(name).partitions == (Partition(number=0, earliest=2, latest=3),)
        assert kafka.values(name) == [b"c"]

    def test_a_topic_that_is_not_there_is_an_error_and_stays_away(self, kafka: Kafka) -> None:
        with pytest.raises(KafkaRequestError, match="Unknown topic"):
            kafka.read("nowhere")
        assert "nowhere" not in kafka.topics.names()

    def test_a_topic_cannot_be_made_twice(self, kafka: Kafka) -> None:
        with pytest.raises(KafkaRequestError, match="already exists"):
            kafka.topics.create(kafka.topic())

    def test_a_broker_that_is_not_there_is_an_error(self) -> None:
        with pytest.raises(KafkaRequestError, match=f"{HOST}:1 did not list its topics"):
            Topics(f"{HOST}:1").names()


class TestBroker:
    def test_it_listens_on_the_loopback_address_only(self, broker: Broker) -> None:
        # A server on all addresses would answer on every address of the loopback network.
        with pytest.raises(OSError, match=r"refused|assign"):
            socket.create_connection(("127.0.0.2", port_of(broker.bootstrap)), timeout=1)

    def test_the_features_of_this_kafka_version_are_on(self, broker: Broker) -> None:
        checkpoint = (broker.data / "records" / "bootstrap.checkpoint").read_bytes()
        assert b"transaction.version" in checkpoint
        assert b"group.version" in checkpoint

    def test_address_and_records_outlive_a_stop_and_a_crash(self) -> None:
        with Broker() as broker:
            kafka = Kafka(broker.bootstrap)
            topic = kafka.topic()
            kafka.produce(topic, ["before"])
            for end in (broker.stop, broker.kill):
                bootstrap = broker.bootstrap
                end()
                assert broker.pid is None
                assert not answers(port_of(bootstrap))
                broker.start()
                assert broker.bootstrap == bootstrap
            kafka.produce(topic, ["after"])
            assert sorted(r.value or b"" for r in kafka.read_until(topic, 2)) == [b"after", b"before"]
            data = broker.data
        assert not data.exists()

    def test_a_given_folder_keeps_its_records_and_admits_one_broker_at_a_time(self, tmp_path: Path) -> None:
        folder = tmp_path / "käfka, data"
        with Broker(data=folder) as broker:
            kafka = Kafka(broker.bootstrap)
            topic = kafka.topic()
            kafka.produce(topic, ["kept"])
            with pytest.raises(KafkaStartError, match="another broker uses its data folder"):
                Broker(data=folder).start()
            # The refused one has not disturbed the first.
            assert kafka.values(topic) == [b"kept"]
        with Broker(data=folder) as broker:
            assert Kafka(broker.bootstrap).values(topic) == [b"kept"]

    def test_a_folder_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(KafkaStartError, match="a file cannot be written"):
            Broker(data=tmp_path / "file" / "data").start()

    def test_a_wrong_setting_is_quoted_from_the_log(self) -> None:
        with pytest.raises(KafkaStartError, match=r"num\.io\.threads"):
            Broker(settings={"num.io.threads": "none"}).start()

    def test_starting_twice_starts_once(self) -> None:
        with Broker() as broker:
            pid = broker.pid
            assert broker.start().pid == pid

    def test_a_broker_that_ends_by_itself_is_noticed_and_can_be_started_again(self) -> None:
        with Broker() as broker:
            broker.wait(timedelta(0))
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGKILL)
            with pytest.raises(KafkaDiedError):
                broker.wait(timedelta(seconds=30))
            assert broker.start().pid is not None


class TestSaslSsl:
    def test_records_travel_over_tls_with_a_password(self, secure_broker: Broker) -> None:
        secure = Kafka(secure_broker.sasl_ssl_bootstrap, secure_broker.sasl_ssl_client())
        topic = secure.topic()
        secure.produce(topic, ["secret"])
        assert secure.values(topic) == [b"secret"]
        assert Kafka(secure_broker.bootstrap).values(topic) == [b"secret"]

    @pytest.mark.parametrize("wrong", [{"sasl.password": "wrong"}, {"security.protocol": "PLAINTEXT"}])
    def test_nobody_else_gets_in(self, secure_broker: Broker, wrong: dict[str, str]) -> None:
        client = secure_broker.sasl_ssl_client() | wrong
        with pytest.raises(KafkaRequestError):
            Topics(secure_broker.sasl_ssl_bootstrap, client).names()

    def test_spark_options_name_the_listener_and_how_to_trust_it(self, secure_broker: Broker) -> None:
        options = secure_broker.sasl_ssl_options()
        assert options["kafka.bootstrap.servers"] == secure_broker.sasl_ssl_bootstrap
        assert Path(options["kafka.ssl.truststore.location"]).read_text().startswith("-----BEGIN CERTIFICATE-----")
