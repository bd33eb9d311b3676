"""A small sigstore of its own: a certificate authority, a certificate log and a transparency log, in memory.

It signs as the public one does (Fulcio, Rekor v1), so that sigstore's own verifier accepts its bundles, given its
trusted root. Nothing is sent anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_LOG_ORIGIN = "log.example"


def _der(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _octets(data: bytes) -> bytes:
    return b"\x04" + (bytes([len(data)]) if len(data) < 128 else bytes([0x81, len(data)])) + data


class Authority:
    """Signs statements for any identity; `trusted_root` is what its verifiers need."""

    def __init__(self) -> None:
        self._root, self._certificates, self._log = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        self._now = datetime.now(UTC).replace(microsecond=0)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        usage = {
            usage: usage in ("key_cert_sign", "crl_sign")
            for usage in (
                *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
                *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
            )
        }
        self._root_certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._root.public_key())
            .serial_number(1)
            .not_valid_before(self._now - timedelta(days=1))
            .not_valid_after(self._now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._root.public_key()), critical=False)
            .sign(self._root, hashes.SHA256())
        )

    def trusted_root(self) -> dict[str, Any]:
        """Return the trusted root as sigstore writes it."""
        start = {"start": (self._now - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")}

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            public = _der(key.public_key())
            return {
                "baseUrl": f"https://{_LOG_ORIGIN}",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": _text(public), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": start},
                "logId": {"keyId": _text(hashlib.sha256(public).digest())},
            }

        authority = {
            "subject": {"organization": "test", "commonName": "test authority"},
            "uri": "https://ca.example",
            "certChain": {"certificates": [{"rawBytes": _text(self._certificate_bytes(self._root_certificate))}]},
            "validFor": start,
        }
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self._log)],
            "certificateAuthorities": [authority],
            "ctlogs": [log(self._certificates)],
            "timestampAuthorities": [],
        }

    def sign(self, payload: bytes, *, identity: str, issuer: str) -> dict[str, Any]:
        """Return the bundle of an in-toto statement."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key, identity, issuer)
        kind = "application/vnd.in-toto+json"
        signed = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        signature = key.sign(signed, ec.ECDSA(hashes.SHA256()))
        envelope = {"payload": _text(payload), "payloadType": kind, "signatures": [{"sig": _text(signature)}]}
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": _text(self._certificate_bytes(certificate))},
                "tlogEntries": [self._entry(certificate, payload, signature, envelope)],
            },
            "dsseEnvelope": envelope,
        }

    @staticmethod
    def _certificate_bytes(certificate: x509.Certificate) -> bytes:
        return certificate.public_bytes(serialization.Encoding.DER)

    def _certificate(self, key: ec.EllipticCurvePrivateKey, identity: str, issuer: str) -> x509.Certificate:
        """Return the certificate of an identity, with the promise of the certificate log."""
        is_address = "@" in identity and "://" not in identity
        name = x509.RFC822Name(identity) if is_address else x509.UniformResourceIdentifier(identity)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self._root_certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - timedelta(minutes=5))
            .not_valid_after(self._now + timedelta(minutes=5))
            .add_extension(
                x509.KeyUsage(True, False, False, False, False, False, False, False, False),
                critical=True,
            )
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._root.public_key()), critical=False)
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, issuer.encode()), critical=False)
        )
        body = builder.sign(self._root, hashes.SHA256()).tbs_certificate_bytes
        issuer_id = hashlib.sha256(_der(self._root.public_key())).digest()
        entry = issuer_id + len(body).to_bytes(3, "big") + body
        time = int(self._now.timestamp() * 1000)
        signed = struct.pack("!BBQH", 0, 0, time, 1) + entry + struct.pack("!H", 0)
        signature = self._certificates.sign(signed, ec.ECDSA(hashes.SHA256()))
        log_id = hashlib.sha256(_der(self._certificates.public_key())).digest()
        # RFC 6962, 3.2: version, log, time, extensions, SHA-256 (4) and ECDSA (3), signature.
        promise = struct.pack("!B32sQHBBH", 0, log_id, time, 0, 4, 3, len(signature)) + signature
        promises = struct.pack("!HH", len(promise) + 2, len(promise)) + promise
        return builder.add_extension(x509.UnrecognizedExtension(_SCT_LIST, _octets(promises)), critical=False).sign(
            self._root, hashes.SHA256()
        )

    def _entry(
        self, certificate: x509.Certificate, payload: bytes, signature: bytes, envelope: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the entry of the transparency log, which has only this one."""
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {
                    "algorithm": "sha256",
                    "value": hashlib.sha256(json.dumps(envelope).encode()).hexdigest(),
                },
                "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                "signatures": [{"signature": _text(signature), "verifier": _text(pem)}],
            },
        }
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        log_id = hashlib.sha256(_der(self._log.public_key())).digest()
        root = hashlib.sha256(b"\0" + canonical).digest()
        note = f"{_LOG_ORIGIN}\n1\n{_text(root)}\n"
        checkpoint = _text(log_id[:4] + self._log.sign(note.encode(), ec.ECDSA(hashes.SHA256())))
        time = int(self._now.timestamp())
        promised = {"body": _text(canonical), "integratedTime": time, "logID": log_id.hex(), "logIndex": 0}
        promise = json.dumps(promised, sort_keys=True, separators=(",", ":")).encode()
        return {
            "logIndex": "0",
            "logId": {"keyId": _text(log_id)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {"signedEntryTimestamp": _text(self._log.sign(promise, ec.ECDSA(hashes.SHA256())))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": _text(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\u2014 {_LOG_ORIGIN} {checkpoint}\n"},
            },
            "canonicalizedBody": _text(canonical),
        }
