"""Inserts accounts and names that exist in the vault into the requests that schemathesis generates.

Only valid requests are changed, so that most of them pass authentication, the check of the email address and the lookup of the name.
Invalid requests are sent unchanged.
"""

import json
import os
import unicodedata
import zlib

import schemathesis

FIXTURE = json.loads(os.environ["VAULT_FIXTURE"])

# Operations on received secrets and on own secrets. All others use dismissable received secrets.
RECEIVED = ("expose_link", "protect_link", "version_list_for_link", "version_expose_link", "update_key_metadata")
OWN = ("expose", "protect", "version_list", "version_expose", "version_delete", "share", "unshare", "share_list", "delete")


# Letters that take no place.
FILLERS = "\u115f\u1160"
# A word mixes none of them with ASCII characters.
ALPHABETS = ("GREEK", "CYRILLIC", "ARMENIAN", "COPTIC", "CHEROKEE", "LISU")


def is_of(alphabets, character):
    return any(alphabet in unicodedata.name(character, "") for alphabet in alphabets)


def new_team(name):
    """Returns a name with the letters and digits of another one that a new team may have, which a schema cannot express."""
    kept = (c for c in unicodedata.normalize("NFKC", name) if c.isalnum() and c not in FILLERS and not is_of(ALPHABETS, c))
    return unicodedata.normalize("NFKC", "".join(kept))[:256] or "x"


def pick(names, seed):
    return names[seed % len(names)]


def fill(operation, body, seed):
    """Replaces most generated values with existing ones."""
    if "password" in body:
        body["email"], body["password"] = FIXTURE["email"], FIXTURE["password"]
    if "refresh_token" in body and seed % 3:
        body["refresh_token"], body["used_access_token"] = FIXTURE["refresh_token"], FIXTURE["token"]
    if "allowed_networks" in body:
        # The form of networks, which the schema does not express.
        body["allowed_networks"] = ["127.0.0.0/8", "fd00::/8"][: len(body["allowed_networks"])]
    if "email" in body and seed % 8:
        body["email"] = FIXTURE["email"]
        if "usr_id_from" in body:
            body["usr_id_from"] = FIXTURE["email"]
    if seed % 4 == 0:
        return
    if "key_name" in body:
        if operation in RECEIVED:
            body["key_name"] = pick(FIXTURE["received"], seed)
            body.pop("owner", None)
        elif operation in OWN:
            name = pick(FIXTURE["own"], seed)
            body["key_name"] = name if isinstance(body["key_name"], str) else [name]
        else:
            body["key_name"] = pick(FIXTURE["dismissable"], seed)
            body.pop("owner", None)
    if "key_version" in body and seed % 3:
        body["key_version"] = 1
    if "group_id" in body and operation != "team_create":
        body["group_id"] = pick(FIXTURE["teams"], seed)
    if "group_id_to" in body:
        body["group_id_to"] = pick(FIXTURE["teams"], seed)
    if "filename" in body:
        body["filename"] = pick(FIXTURE["files"], seed)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    operation = case.operation.definition.raw["operationId"]
    if operation == "protect_file":
        # The header is the number of files, which a schema cannot express.
        case.headers["CountOfFiles"] = "1"
        case.headers["email"] = FIXTURE["email"]
    elif isinstance(case.body, dict):
        if operation == "team_create" and "group_id" in case.body:
            case.body["group_id"] = new_team(case.body["group_id"])
        seed = zlib.crc32(json.dumps(case.body, sort_keys=True, default=str).encode("utf-8", "replace"))
        fill(operation, case.body, seed)


@schemathesis.deserializer("application/octet-stream")
def octets(ctx, response):
    return response.content.hex()
