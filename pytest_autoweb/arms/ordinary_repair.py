"""`off`: no correction, but the repair that every strategy knows by itself."""

from pytest_autoweb.arms.correction_arm import ARMS, CorrectionArm

OFF = ARMS.add(
    CorrectionArm(
        name="off",
        summary="the ordinary repair",
        label="ordinary repair",
        ordinary=True,
        told=False,
    )
)
