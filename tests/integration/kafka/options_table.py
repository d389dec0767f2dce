# SPDX-License-Identifier: Apache-2.0
"""Every option of the Kafka guide of Spark 4.3, what becomes of it here, and the test that shows it.

The tests walk this table: each refusal is provoked, each wrong value tried, and each proof must exist. A new option
in a later guide belongs in here first.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

TOPIC = "TOPIC"
"""Stands for the name of the test's topic, which has one partition."""


class Verdict(enum.Enum):
    """What becomes of an option."""

    HONOURED = "honoured"
    NO_EFFECT = "no effect"
    """Accepted, because the same options serve several modes, and said in the log or in the docs."""
    REFUSED = "refused"
    """An error that names the option and the reason, before anything is read or written."""


HONOURED, NO_EFFECT, REFUSED = Verdict.HONOURED, Verdict.NO_EFFECT, Verdict.REFUSED


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: Its name in the guide.
        good: A value that the guide allows.
        real_time: What becomes of it in real-time mode.
        micro_batch: What becomes of it under every other trigger.
        batch: What becomes of it in a batch read or write.
        bad: Values that nothing could be made of; each is refused by name.
        proof: The test that shows its effect; a refusal is shown by the walk through this table.
    """

    name: str
    good: str
    real_time: Verdict = HONOURED
    micro_batch: Verdict = HONOURED
    batch: Verdict = HONOURED
    bad: tuple[str, ...] = ()
    proof: str = ""


NUMBERS = ("0", "-5", "many")

SOURCE = (
    Option(
        name="assign",
        good='{"TOPIC":[0]}',
        bad=("TOPIC", "{}", '{"TOPIC":0}'),
        proof="test_assigned_partitions_are_read",
    ),
    Option(name="subscribe", good=TOPIC, bad=(" , ",), proof="test_listed_topics_are_read"),
    Option(name="subscribePattern", good=TOPIC, bad=("*orders",), proof="test_matching_topics_are_read"),
    Option(name="kafka.bootstrap.servers", good="", bad=("nonsense",), proof="test_absent_brokers_are_named"),
    Option(name="startingTimestamp", good="0", bad=("yesterday",), proof="test_reading_starts_at_a_time"),
    Option(
        name="startingOffsetsByTimestamp",
        good='{"TOPIC":{"0":0}}',
        bad=("0", "{"),
        proof="test_reading_starts_at_a_time",
    ),
    Option(name="startingOffsets", good="earliest", bad=("first", "[0]"), proof="test_reading_starts_at_an_offset"),
    Option(
        name="endingTimestamp",
        good="9999999999999",
        real_time=REFUSED,
        micro_batch=REFUSED,
        bad=("tomorrow",),
        proof="test_batch_reading_ends_at_a_time",
    ),
    Option(
        name="endingOffsetsByTimestamp",
        good='{"TOPIC":{"0":9999999999999}}',
        real_time=REFUSED,
        micro_batch=REFUSED,
        bad=("{",),
        proof="test_batch_reading_ends_at_a_time",
    ),
    Option(
        name="endingOffsets",
        good="latest",
        real_time=REFUSED,
        micro_batch=REFUSED,
        bad=("last",),
        proof="test_batch_reading_ends_at_an_offset",
    ),
    Option(name="failOnDataLoss", good="true", bad=("perhaps",), proof="test_records_lost_to_retention"),
    Option(
        name="kafkaConsumer.pollTimeoutMs",
        good="60000",
        real_time=NO_EFFECT,
        bad=NUMBERS,
        proof="test_reading_beyond_the_end_is_an_error_in_time",
    ),
    Option(name="fetchOffset.numRetries", good="5", bad=NUMBERS, proof="test_harmless_options_go_together"),
    Option(
        name="fetchOffset.retryIntervalMs", good="20", bad=("-1", "soon"), proof="test_harmless_options_go_together"
    ),
    Option(
        name="partition.metadata.cache.ttl.ms",
        good="-1",
        batch=NO_EFFECT,
        bad=NUMBERS,
        proof="test_partitions_are_looked_for_as_often_as_asked",
    ),
    Option(
        name="maxOffsetsPerTrigger",
        good="1000",
        real_time=REFUSED,
        batch=NO_EFFECT,
        bad=NUMBERS,
        proof="test_batches_have_at_most_so_many_records",
    ),
    Option(
        name="minOffsetsPerTrigger",
        good="1",
        real_time=REFUSED,
        batch=NO_EFFECT,
        bad=NUMBERS,
        proof="test_batches_wait_for_so_many_records",
    ),
    Option(
        name="maxTriggerDelay",
        good="1s",
        real_time=REFUSED,
        batch=NO_EFFECT,
        bad=("soon",),
        proof="test_batches_wait_only_so_long",
    ),
    Option(
        name="minPartitions",
        good="2",
        real_time=REFUSED,
        bad=(*NUMBERS, "99999999999"),
        proof="test_large_partitions_are_split",
    ),
    Option(
        name="maxRecordsPerPartition",
        good="10",
        real_time=REFUSED,
        bad=NUMBERS,
        proof="test_large_partitions_are_split",
    ),
    Option(name="groupIdPrefix", good="analytics", proof="test_group_ids_are_as_asked"),
    Option(name="kafka.group.id", good="analytics", proof="test_group_ids_are_as_asked"),
    Option(name="includeHeaders", good="true", bad=("1",), proof="test_columns_are_those_of_spark"),
    Option(
        name="startingOffsetsByTimestampStrategy",
        good="latest",
        bad=("earliest",),
        proof="test_a_time_after_the_last_record",
    ),
    # Ours, for real-time mode.
    Option(
        name="maxPartitions",
        good="1",
        micro_batch=NO_EFFECT,
        batch=NO_EFFECT,
        bad=NUMBERS,
        proof="test_partitions_share_tasks",
    ),
)


def _refused(name: str, good: str) -> Option:
    return Option(name=name, good=good, real_time=REFUSED, micro_batch=REFUSED, batch=REFUSED)


SOURCE_KAFKA = (
    _refused("kafka.auto.offset.reset", "earliest"),
    _refused("kafka.enable.auto.commit", "false"),
    _refused("kafka.key.deserializer", "x.Y"),
    _refused("kafka.value.deserializer", "x.Y"),
    _refused("kafka.interceptor.classes", "x.Y"),
    Option(
        name="kafka.session.timeout.ms",
        good="10000",
        bad=("long",),
        proof="test_harmless_options_go_together",
    ),
    Option(
        name="kafka.isolation.level",
        good="read_committed",
        bad=("read_some",),
        proof="test_aborted_records_are_invisible",
    ),
    Option(name="kafka.client.id", good="reader", proof="test_client_settings_reach_the_clients"),
    Option(name="kafka.max.poll.records", good="10", bad=("0",), proof="test_harmless_options_go_together"),
    Option(
        name="kafka.security.protocol",
        good="PLAINTEXT",
        bad=("SECRET",),
        proof="test_a_round_trip_with_tls_and_password_leaks_no_secret",
    ),
)

SINK = (
    Option(name="kafka.bootstrap.servers", good="", bad=("nonsense",), proof="test_absent_brokers_are_named"),
    Option(name="topic", good=TOPIC, proof="test_the_option_wins_over_the_column"),
    Option(name="includeHeaders", good="true", bad=("1",), proof="test_headers_are_written"),
    _refused("kafka.key.serializer", "x.Y"),
    _refused("kafka.value.serializer", "x.Y"),
    _refused("kafka.transactional.id", "me"),
    Option(
        name="commitInterval",
        good="50ms",
        batch=NO_EFFECT,
        bad=("soon", "1ms", "1 millisecond"),
        proof="test_what_is_recorded_is_not_read_again",
    ),
    Option(
        name="delivery",
        good="at-least-once",
        bad=("exactly once", "at-most-once"),
        proof="test_results_are_seen_inside_the_epoch_and_once",
    ),
    Option(
        name="kafka.partitioner.class",
        good="org.apache.kafka.clients.producer.RoundRobinPartitioner",
        bad=("no.such.Class",),
        proof="test_a_partitioner_can_be_chosen",
    ),
    Option(name="kafka.acks", good="all", bad=("some",), proof="test_harmless_sink_options_go_together"),
    Option(name="kafka.enable.idempotence", good="true", bad=("1",), proof="test_harmless_sink_options_go_together"),
    Option(name="kafka.linger.ms", good="1", bad=("-1",), proof="test_harmless_sink_options_go_together"),
    Option(
        name="kafka.compression.type",
        good="lz4",
        bad=("zip",),
        proof="test_compressed_topics_are_read_and_written",
    ),
    Option(name="kafka.max.request.size", good="2000000", bad=("-1",), proof="test_large_records_pass"),
    Option(name="kafka.client.id", good="writer", proof="test_client_settings_reach_the_clients"),
)

_CLUSTERS = "spark.kafka.clusters.main."

APPLICATION = (
    Option(name="spark.kafka.consumer.cache.capacity", good="2", proof="test_idle_consumers_are_capped"),
    Option(name="spark.kafka.consumer.cache.timeout", good="1ms", proof="test_idle_clients_are_closed"),
    Option(
        name="spark.kafka.consumer.cache.evictorThreadRunInterval",
        good="100ms",
        proof="test_idle_clients_are_looked_for_as_often_as_asked",
    ),
    _refused("spark.kafka.consumer.cache.jmx.enable", "true"),
    _refused("spark.kafka.consumer.fetchedData.cache.timeout", "5m"),
    _refused("spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval", "1m"),
    Option(name="spark.kafka.producer.cache.timeout", good="1ms", proof="test_idle_clients_are_closed"),
    Option(
        name="spark.kafka.producer.cache.evictorThreadRunInterval",
        good="100ms",
        proof="test_idle_clients_are_looked_for_as_often_as_asked",
    ),
    _refused("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true"),
    Option(name="spark.security.credentials.kafka.enabled", good="false", proof="test_tokens_can_be_switched_off"),
    *(
        _refused(_CLUSTERS + name, "x")
        for name in (
            "auth.bootstrap.servers",
            "target.bootstrap.servers.regex",
            "security.protocol",
            "sasl.kerberos.service.name",
            "ssl.truststore.type",
            "ssl.truststore.location",
            "ssl.truststore.password",
            "ssl.keystore.type",
            "ssl.keystore.location",
            "ssl.keystore.password",
            "ssl.key.password",
            "sasl.token.mechanism",
            "kafka.retries",
        )
    ),
)
