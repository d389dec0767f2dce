// SPDX-License-Identifier: Apache-2.0
// The same loop as script_loop.py, in Java with Kafka's own client: consumes, computes and produces. Run as a source file.

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class ScriptLoop {
  private static final long SMALLEST_CENTS = 1000;

  public static void main(String[] arguments) {
    String workload = arguments[0];
    String bootstrap = arguments[1];
    String source = arguments[2];
    String sink = arguments[3];
    int partitions = Integer.parseInt(arguments[4]);
    endWithInput();
    try (var consumer = new KafkaConsumer<>(Map.<String, Object>of("bootstrap.servers", bootstrap),
            new ByteArrayDeserializer(), new ByteArrayDeserializer());
        var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", bootstrap, "linger.ms", "0"),
            new ByteArraySerializer(), new ByteArraySerializer())) {
      List<TopicPartition> assigned =
          IntStream.range(0, partitions).mapToObj(partition -> new TopicPartition(source, partition)).toList();
      consumer.assign(assigned);
      consumer.seekToBeginning(assigned);
      while (true) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          String answer = answer(workload, new String(record.value(), StandardCharsets.UTF_8));
          if (answer != null)
            producer.send(new ProducerRecord<>(sink, record.key(), answer.getBytes(StandardCharsets.UTF_8)));
        }
      }
    }
  }

  private static String answer(String workload, String value) {
    long id = number(value, "\"id\":");
    long cents = number(value, "\"cents\":");
    return switch (workload) {
      case "stateless" -> cents > SMALLEST_CENTS ? "{\"id\":" + id + ",\"fee\":" + cents * 3 + "}" : null;
      case "udf" -> "{\"id\":" + id + ",\"score\":" + (cents * 37 + 11) % 1000 + "}";
      default -> throw new IllegalArgumentException(workload);
    };
  }

  // The values are the harness's own, always in the same form.
  private static long number(String value, String name) {
    int from = value.indexOf(name) + name.length();
    int to = from;
    while (Character.isDigit(value.charAt(to))) to++;
    return Long.parseLong(value, from, to, 10);
  }

  private static void endWithInput() {
    Thread watcher = new Thread(() -> {
      try {
        while (System.in.read() >= 0) { }
      } catch (java.io.IOException closed) {
        // The same as its end.
      }
      // At once, from whatever the loop is doing: there is nothing to finish.
      Runtime.getRuntime().halt(0);
    });
    watcher.setDaemon(true);
    watcher.start();
  }
}
