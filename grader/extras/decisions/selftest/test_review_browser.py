"""The review page in a real browser, by keyboard: narrow and wide, in both languages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from grader.core.results.outcome import Outcome
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.file import read
from grader.extras.decisions.model import Decision
from grader.selftest import LONG
from grader.selftest.browser import PATIENCE_S, chromium, resize, served
from grader.selftest.class_reports import graded
from grader.selftest.review_class import LATE, write_review_class

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """One browser for all tests."""
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


class Person:
    """Somebody who reviews a class, and waits for each page."""

    def __init__(self, driver: webdriver.Chrome, out: Path, address: str) -> None:
        """Open the class."""
        self.driver, self.out = driver, out
        driver.get(address)
        self.at_class()

    def one(self, selector: str) -> WebElement:
        """The first element."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for something; elements may be those of the page before."""
        wait = WebDriverWait(self.driver, PATIENCE_S, 0.05, ignored_exceptions=[WebDriverException])
        wait.until(lambda _: holds())

    def leave(self) -> None:
        """Mark the page, which the next one may resemble: only a page without the mark is the next one."""
        self.driver.execute_script("window.left = true")

    def at(self, title: str) -> None:
        """Wait for the page of a student on which keys are heard."""
        ready = "return document.readyState === 'complete' && !window.left"
        self.until(lambda: self.one("h1").text == title and self.driver.execute_script(ready))

    def at_class(self) -> None:
        """Wait for the page of the class."""
        self.until(lambda: "class review" in (self.one("body").get_attribute("class") or ""))

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def save(self) -> None:
        """Press Ctrl and Enter."""
        chain = webdriver.ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER)
        chain.key_up(Keys.CONTROL).perform()

    def click(self, selector: str) -> None:
        """Scroll to an element as a person does, above the bar, and click it."""
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", self.one(selector))
        self.one(selector).click()

    def decided(self, count: int) -> list[Decision]:
        """So many decisions, once they are in the file."""
        self.until(lambda: len(read(self.out)) == count)
        return [entry.decision for entry in read(self.out)]

    def focused(self, selector: str) -> None:
        """Wait until an element has the focus."""
        self.until(lambda: self.driver.switch_to.active_element == self.one(selector))


@contextlib.contextmanager
def reviewing(driver: webdriver.Chrome, out: Path, language: str, width: int, *options: str) -> Iterator[Person]:
    """A review in one language and one width; the console must stay empty."""
    resize(driver, width, 900)
    with served(out, "--lang", language, *options) as address:
        yield Person(driver, out, address)
        assert driver.get_log("browser") == []
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert driver.execute_script(wide) == 0
        driver.get("about:blank")


@pytest.fixture
def narrow(driver: webdriver.Chrome, tmp_path: Path) -> Iterator[Person]:
    """Four students, where words are longest and the window is narrow."""
    with reviewing(driver, write_review_class(tmp_path / "out"), "en", 400, "--by", "kim") as page:
        yield page


def test_the_whole_queue_by_keyboard_and_a_line_by_a_click(narrow: Person) -> None:
    person = narrow
    person.press("n")
    person.at("di")
    person.press("n")
    person.at("Bo")
    person.press("k")
    person.at("di")
    person.press("?")
    person.until(lambda: person.one("#help").is_displayed())
    person.press(Keys.ESCAPE)
    person.until(lambda: not person.one("#help").is_displayed())
    person.press("a")  # accept: the next one opens
    person.at("Bo")
    person.press("l")
    person.until(lambda: "#f" in person.driver.current_url)
    person.click("#f0-3")
    person.press("c")
    person.focused("#comment-comment")
    assert (person.one("#at").get_attribute("value") or "").endswith(".py:3")
    person.press("Look at line 54 again.", Keys.ENTER, "npa")  # no keys of the page in a field
    person.leave()
    person.save()
    assert person.decided(2)[1].comment == "Look at line 54 again.\nnpa"
    person.at("Bo")
    person.press("a")
    person.at("Cy")
    person.press("o")
    person.focused("#what")
    person.leave()
    person.press(Keys.TAB, "0.5", Keys.TAB, "The machine was slow.", Keys.TAB, Keys.ENTER)
    override = person.decided(4)[3]
    assert (override.override, override.points, override.why) == (LATE, 0.5, "The machine was slow.")
    assert (override.who, override.student) == ("kim", "c-cy")
    person.at("Cy")
    person.press("e")
    person.focused("#excuse-why")
    person.press(Keys.ESCAPE, "a")  # leaves the field, and then the key is heard
    person.at_class()
    assert [one.what for one in person.decided(5)] == ["seen", "comment", "seen", "override", "seen"]


@pytest.mark.parametrize(("language", "width"), [("en", 400), ("zh", 1400)] if LONG else [("zh", 400)])
def test_a_group_is_decided_and_undone_by_keyboard_alone(
    driver: webdriver.Chrome, tmp_path: Path, language: str, width: int
) -> None:
    """Three with one mistake, one of whom is taken out."""
    mistake = ASSIGNMENT.rubric.misconceptions[0]
    name = mistake.properties[0]
    lost = [graded(who, {name: Outcome.FAILED}, {name: mistake.id}) for who in ("ada", "bo", "cy")]
    out = write_review_class(tmp_path / "out", lost)
    with reviewing(driver, out, language, width, "--as", "kim") as page:
        page.press("m")
        page.at(ASSIGNMENT.rubric.properties[name].title[language])
        page.click(".members input[value='1']")
        page.one("#points").send_keys("2")
        page.one("#why").send_keys("Fair.", Keys.ESCAPE)
        page.press("g")
        assert [(one.student, one.points, one.who) for one in page.decided(2)] == [("ada", 2, "kim"), ("cy", 2, "kim")]
        page.at_class()
        told = "return document.getElementById('told')?.textContent ?? ''"
        page.until(lambda: "2" in driver.execute_script(told))
        assert "told" not in driver.current_url  # said once
        before = driver.execute_script(told)
        page.press("u")
        page.decided(0)
        page.until(lambda: driver.execute_script(told) not in ("", before))
