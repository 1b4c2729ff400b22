from pytest_autoweb.browser.page.frames import FrameFacts, score_frame


def facts(
    *controls: str, text: str = "", main: bool = False, same: bool = True, area: float = 0.5
) -> FrameFacts:
    return FrameFacts(controls, text, area, is_main=main, same_origin=same)


def better(first: FrameFacts, second: FrameFacts, hint: str) -> bool:
    return score_frame(first, hint) > score_frame(second, hint)


def test_the_frame_with_the_quoted_control_wins() -> None:
    main = facts("link Home", "link Help", main=True)
    frame = facts("button Save draft", text="Save draft")

    assert better(frame, main, 'Click the "Save draft" button')


def test_a_large_advert_of_another_origin_does_not_win_by_size() -> None:
    main = facts("button Buy", main=True, area=1.0)
    advert = facts(*[f"link offer {n}" for n in range(40)], same=False, area=1.0)

    assert better(main, advert, "Buy the book")


def test_the_page_wins_a_tie() -> None:
    main = facts("button Save", text="Save", main=True)
    frame = facts("button Save", text="Save", area=0.2)

    assert better(main, frame, "Press Save")


def test_without_a_hint_an_application_in_a_frame_beats_an_empty_shell() -> None:
    shell = facts(main=True)
    frame = facts(*[f"textbox field {n}" for n in range(10)], area=0.9)

    assert better(frame, shell, "")


def test_chinese_steps_are_matched_without_spaces() -> None:
    main = facts("button 取消", main=True)
    frame = facts("button 提交订单", text="提交订单")

    assert better(frame, main, "点击提交订单按钮")
