"""Who gets an answer from the review page: nobody without the token, from another host or from another page."""

from __future__ import annotations

import pytest

from grader.core.grades.model import FILE
from grader.extras.decisions.review.server import FORM, HEADERS, MAX_BODY
from grader.selftest.review_class import HOST, PORT, TOKEN, Desk, write_review_class

PATHS = ["", "student/bo", "group/0123456789ab", "static/review.js", "static/pages.css", "nothing"]
FIELDS = {"do": "comment", "comment": "Hello."}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One for all tests here, none of which may write anything."""
    return Desk(write_review_class(tmp_path_factory.mktemp("review") / "out"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", "t0ke", "t0kenn", "T0KEN", "t0k\u00e9n", "%2e%2e/t0ken"])
def test_without_the_token_nothing_is_answered_whatever_the_path(desk: Desk, token: str, path: str) -> None:
    answer = desk.client.get(f"/{token}/{path}" if token else f"/{path}")
    assert (answer.status_code, answer.text) == (404, "not found")
    sent = desk.client.post(f"/{token}/{path}", data=FIELDS, headers={"origin": HOST})
    assert (sent.status_code, sent.text) == (404, "not found")
    assert not (desk.out / FILE).exists()


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.evil:{PORT}", ""]
)
def test_another_name_for_this_address_is_refused(desk: Desk, host: str) -> None:
    answer = desk.client.get(f"/{TOKEN}/", headers={"host": host})
    assert (answer.status_code, answer.text) == (421, "another host")


def test_two_hosts_at_once_are_refused(desk: Desk) -> None:
    hosts = [("host", f"127.0.0.1:{PORT}"), ("host", "evil.example")]
    assert desk.client.get(f"/{TOKEN}/", headers=hosts).status_code == 421


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}"])
def test_both_names_of_this_machine_are_served(desk: Desk, host: str) -> None:
    assert desk.client.get(f"/{TOKEN}/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://127.0.0.1:{PORT}", "http://127.0.0.1", f"{HOST}/", "*"]
)
def test_a_form_of_another_page_writes_nothing(desk: Desk, origin: str | None) -> None:
    fields = {**FIELDS, "state": desk.state("bo")}
    headers = {} if origin is None else {"origin": origin}
    answer = desk.client.post(f"/{TOKEN}/student/bo", data=fields, headers=headers)
    assert (answer.status_code, answer.text) == (403, "from another page")
    assert not (desk.out / FILE).exists()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_get_and_post_are_answered(desk: Desk, method: str) -> None:
    assert desk.client.request(method, f"/{TOKEN}/", headers={"origin": HOST}).status_code == 405


def test_only_forms_of_a_fair_size_are_read(desk: Desk) -> None:
    path, origin = f"/{TOKEN}/student/bo", {"origin": HOST}
    assert desk.client.post(path, json=FIELDS, headers=origin).status_code == 415
    large = {"content-type": FORM, **origin}
    assert desk.client.post(path, content=b"x" * (MAX_BODY + 1), headers=large).status_code == 413
    assert desk.client.post(path, content=iter([b"do=comment"]), headers=large).status_code == 413  # without a length


def test_a_post_elsewhere_and_a_page_that_is_not_there_are_refused(desk: Desk) -> None:
    origin = {"origin": HOST}
    assert desk.client.post(f"/{TOKEN}/", data=FIELDS, headers=origin).status_code == 405
    for path in ("student/nobody", "student/../summary", "student/", "static/app.py", "static/..%2fapp.py", "x"):
        assert desk.client.get(f"/{TOKEN}/{path}").status_code == 404


@pytest.mark.parametrize("path", [*PATHS, "student/nobody"])
@pytest.mark.parametrize("token", [TOKEN, "wrong"])
def test_every_answer_forbids_scripts_of_others_frames_and_copies(desk: Desk, token: str, path: str) -> None:
    headers = desk.client.get(f"/{token}/{path}").headers
    assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "unsafe" not in headers["content-security-policy"]
    assert "server" not in headers


def test_pages_run_no_script_of_their_own_and_load_only_ours(desk: Desk) -> None:
    for path in ("", "student/bo"):
        page = desk.page(path)
        assert all(one.text == "" for one in page.all("script"))
        assert page.all("style") == []
        loaded = [one.attributes.get("src") or "" for one in page.all("script", "img")]
        loaded += [one.attributes.get("href") or "" for one in page.all("link")]
        assert all(one.startswith((f"/{TOKEN}/static/", "data:,")) for one in loaded)
        handlers = [name for one in page.all() for name in one.attributes if name.startswith("on") or name == "style"]
        assert handlers == []
