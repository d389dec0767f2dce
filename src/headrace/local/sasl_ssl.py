# SPDX-License-Identifier: Apache-2.0
"""A second listener with TLS and a password, to try the settings that a cluster elsewhere will need."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from headrace.engine.java import find_java
from headrace.errors import KafkaStartError
from headrace.local.ports import HOST

if TYPE_CHECKING:
    from pathlib import Path

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True, kw_only=True, slots=True)
class SaslSsl:
    """A user, a password, and a certificate for the loopback address, in a folder of their own.

    Attributes:
        folder: Where key and certificate stand.
        user: The only user that may log in.
        password: That user's password, also that of the key store; made up anew each time.
    """

    folder: Path
    user: str = "headrace"
    password: str = field(repr=False)

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Makes a key, a certificate and a password; what the folder held before is lost."""
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        made = cls(folder=folder, password=secrets.token_hex())
        store = ("-alias", "broker", "-keystore", str(made._key_store), "-storetype", "PKCS12")
        names = ("-dname", "CN=headrace local broker", "-ext", f"san=ip:{HOST},dns:localhost")
        made._keytool("-genkeypair", *store, *names, "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650")
        made._keytool("-exportcert", "-rfc", *store, "-file", str(made.certificate))
        return made

    @property
    def certificate(self) -> Path:
        """The certificate that a client has to trust, as PEM."""
        return self.folder / "certificate.pem"

    @property
    def _key_store(self) -> Path:
        return self.folder / "broker.p12"

    def broker_settings(self) -> dict[str, str]:
        """Returns what the broker needs for a listener named ``SASL_SSL``."""
        prefix = "listener.name.sasl_ssl"
        return {
            "sasl.enabled.mechanisms": "PLAIN",
            f"{prefix}.ssl.keystore.type": "PKCS12",
            f"{prefix}.ssl.keystore.location": str(self._key_store),
            f"{prefix}.ssl.keystore.password": self.password,
            f"{prefix}.plain.sasl.jaas.config": f'{_LOGIN} user_{self.user}="{self.password}";',
        }

    def spark_options(self) -> dict[str, str]:
        """Returns what a Spark reader or writer needs, address aside."""
        login = f'{_LOGIN} username="{self.user}" password="{self.password}";'
        return {
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": login,
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": str(self.certificate),
        }

    def client_settings(self) -> dict[str, str]:
        """Returns what a confluent-kafka client needs, address aside."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": self.user,
            "sasl.password": self.password,
            "ssl.ca.location": str(self.certificate),
        }

    def _keytool(self, *arguments: str) -> None:
        command = [str(find_java("keytool")), *arguments, "-storepass:env", "STORE_PASSWORD"]
        # Through the environment: the arguments of a process are visible to every user of the machine.
        done = subprocess.run(
            command, env={"STORE_PASSWORD": self.password}, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise KafkaStartError(
                reason=f"keytool could not make a certificate ({done.stdout.strip()})",
                instead="Check that `keytool` belongs to a JDK 17 or newer.",
            )
