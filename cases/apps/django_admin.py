"""Django's own admin site with a small staff list: `django_admin.py --port PORT --data FOLDER`.

This is what `django-admin startproject` gives, in one file, on a fresh `FOLDER/db.sqlite3`.
Nothing of the admin is changed; the database starts with known people.
"""

import argparse
import datetime
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.urls import path
from django.views.generic import RedirectView

ADMIN_PASSWORD = "adminpw"
SESSION_KEY = "demo0session0of0the0administrator"
"""A session that is logged in already, for cases that are not about logging in."""

GROUPS = [
    "Accounts",
    "Editors",
    "Marketing",
    "Moderators",
    "Reporters",
    "Sales",
    "Support",
    "Translators",
]
SURNAMES = [
    "Abel",
    "Brook",
    "Castle",
    "Dale",
    "Evans",
    "Frost",
    "Grant",
    "Hale",
    "Irons",
    "Stone",
]
FIRST_NAMES = ["Ann", "Bob", "Carla", "Dan", "Eva", "Finn"]


def configure(database: Path) -> None:
    """Settings of a fresh project, for this machine only."""
    settings.configure(
        SECRET_KEY="for-tests-on-this-machine-only",
        ALLOWED_HOSTS=["127.0.0.1", "localhost"],
        ROOT_URLCONF=__name__,
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": database,
                "OPTIONS": {"timeout": 20},
            }
        },
        INSTALLED_APPS=[
            "django.contrib.admin",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "django.contrib.messages",
            "django.contrib.staticfiles",
        ],
        MIDDLEWARE=[
            "django.middleware.security.SecurityMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "django.middleware.clickjacking.XFrameOptionsMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        # A login must not cost the half second of CPU that a real password hash is made to cost.
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        # Tables straight from the models: a fresh database needs no history of migrations.
        MIGRATION_MODULES=dict.fromkeys(("admin", "auth", "contenttypes", "sessions")),
        STATIC_URL="static/",
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )


def fill() -> None:
    """Create the tables, one administrator, sixty people and eight groups."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)
    groups = [Group.objects.create(name=name) for name in GROUPS]
    joined = datetime.datetime(2025, 1, 1, 9, tzinfo=datetime.UTC)
    people = [(first, last) for last in SURNAMES for first in FIRST_NAMES]
    users = User.objects.bulk_create(
        User(
            username=f"{first}.{last}".lower(),
            first_name=first,
            last_name=last,
            email=f"{first}.{last}@example.com".lower(),
            password="!",
            is_staff=number % 7 == 0 or (last == "Stone" and first in ("Bob", "Eva")),
            is_active=number % 11 != 0,
            date_joined=joined + datetime.timedelta(days=number),
        )
        for number, (first, last) in enumerate(people, start=1)
    )
    for number, user in enumerate(users):
        user.groups.add(groups[number % len(groups)])
    log_in(User.objects.create_superuser("admin", "admin@example.com", ADMIN_PASSWORD))


def log_in(administrator: Any) -> None:
    """Store the session that a case's cookie names."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY
    from django.contrib.auth import SESSION_KEY as USER_ID
    from django.contrib.sessions.backends.db import SessionStore
    from django.contrib.sessions.models import Session

    signed = SessionStore().encode(
        {
            USER_ID: str(administrator.pk),
            BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
            HASH_SESSION_KEY: administrator.get_session_auth_hash(),
        }
    )
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=14)
    Session.objects.create(session_key=SESSION_KEY, session_data=signed, expire_date=end)


class Server(ThreadingMixIn, WSGIServer):
    """One thread per connection: a browser opens several."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a browser that closed its page before the reply was through."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class QuietHandler(WSGIRequestHandler):
    """No line per request."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Prepare the database and serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    database = options.data / "db.sqlite3"
    configure(database)
    django.setup()
    fill()

    from django.contrib import admin
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.wsgi import get_wsgi_application

    urlpatterns.extend(
        [
            path("admin/", admin.site.urls),
            path("", RedirectView.as_view(pattern_name="admin:index")),
        ]
    )
    application = StaticFilesHandler(get_wsgi_application())
    with make_server("127.0.0.1", options.port, application, Server, QuietHandler) as server:
        server.serve_forever()


urlpatterns: list[Any] = []

if __name__ == "__main__":
    main()
