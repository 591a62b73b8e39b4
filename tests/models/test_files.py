"""Models in files and behind names: opened safely, refused with a reason."""

import os
import pickle
import sys
from pathlib import Path

import catboost
import joblib
import lightgbm
import numpy as np
import pytest
import skops.io
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from anharmonic.errors import NotAModel, UntrustedFile
from anharmonic.models import as_model


@pytest.fixture(scope="module")
def fitted(points, names) -> LogisticRegression:
    return LogisticRegression(max_iter=500).fit(points, names)


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle"])
def test_pickles_only_with_trust(suffix: str, fitted, points, tmp_path) -> None:
    path = tmp_path / f"model{suffix}"
    joblib.dump(fitted, path)
    with pytest.raises(UntrustedFile, match=r"runs whatever code.*--trust.*\.skops"):
        as_model(path)
    model = as_model(str(path), trust=True)
    assert model.name == "model"
    np.testing.assert_array_equal(model(points), fitted.predict_proba(points))


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


def test_an_untrusted_pickle_is_not_opened(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bomb.pkl").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(UntrustedFile):
        as_model("bomb.pkl")
    assert not Path("exploded").exists()


def test_plain_pickle_without_joblib(fitted, points, tmp_path, monkeypatch) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(fitted))
    monkeypatch.setitem(sys.modules, "joblib", None)
    np.testing.assert_array_equal(as_model(path, trust=True)(points), fitted.predict_proba(points))


def test_skops(fitted, points, tmp_path) -> None:
    path = tmp_path / "model.skops"
    skops.io.dump(fitted, path)
    np.testing.assert_array_equal(as_model(path)(points), fitted.predict_proba(points))


def test_skops_with_unknown_types(points, names, tmp_path) -> None:
    pipeline = make_pipeline(FunctionTransformer(np.tanh), Odd(max_iter=500)).fit(points, names)
    path = tmp_path / "model.skops"
    skops.io.dump(pipeline, path)
    with pytest.raises(UntrustedFile, match=r"Odd.*trust=True"):
        as_model(path)
    model = as_model(path, trust=True)
    np.testing.assert_array_equal(model(points), pipeline.predict_proba(points))


class Odd(LogisticRegression):
    """A class skops has never heard of."""


def test_native_boosters(points, target, tmp_path) -> None:
    xgb = xgboost.XGBClassifier(n_estimators=4).fit(points, target)
    for suffix in (".ubj", ".json"):
        xgb.save_model(tmp_path / f"xgb{suffix}")
        model = as_model(tmp_path / f"xgb{suffix}", trust=True)
        assert (model.name, model.kind) == ("xgb", "probability")
        np.testing.assert_allclose(model(points), xgb.predict_proba(points), rtol=1e-6)
    light = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(points, target)
    light.booster_.save_model(tmp_path / "light.txt")
    model = as_model(tmp_path / "light.txt", trust=True)
    np.testing.assert_allclose(model(points), light.predict_proba(points), rtol=1e-12)
    cat = catboost.CatBoostClassifier(iterations=4, verbose=False, allow_writing_files=False)
    cat.fit(points, target).save_model(str(tmp_path / "cat.cbm"))
    model = as_model(tmp_path / "cat.cbm", trust=True)
    np.testing.assert_allclose(model(points), cat.predict_proba(points), rtol=1e-12)


@pytest.mark.parametrize(
    "suffix", [".onnx", ".joblib", ".pkl", ".skops", ".ubj", ".json", ".txt", ".cbm"]
)
@pytest.mark.parametrize("content", [b"", b"garbage \x00\xff" * 20, b'{"a": 1}'])
def test_garbage(suffix: str, content: bytes, tmp_path) -> None:
    path = tmp_path / f"garbage{suffix}"
    path.write_bytes(content)
    with pytest.raises(NotAModel, match=rf"garbage\{suffix} cannot be read.*again"):
        as_model(path, trust=True)


def test_a_pickle_of_something_else(tmp_path) -> None:
    path = tmp_path / "numbers.pkl"
    path.write_bytes(pickle.dumps([1, 2, 3]))
    with pytest.raises(NotAModel, match=r"list is no model\. Accepted"):
        as_model(path, trust=True)
    path.write_bytes(b"cnowhere_to_be_found\nthing\n.")
    with pytest.raises(NotAModel, match="needs nowhere_to_be_found"):
        as_model(path, trust=True)


def test_no_such_file(tmp_path) -> None:
    with pytest.raises(NotAModel, match="There is no file"):
        as_model(tmp_path / "missing.onnx")
    with pytest.raises(NotAModel, match="There is no file"):
        as_model(tmp_path)
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises(NotAModel, match=r"no model file by its name\. Accepted"):
        as_model(tmp_path / "notes.md")


def test_names_of_objects(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_models.py").write_text(
        "import numpy as np\n"
        "class Zoo:\n"
        "    @staticmethod\n"
        "    def double(points): return 2 * points\n"
        "path = 'my_models:path'\n"
        "from anharmonic.models import as_model\n"
        "adapted = as_model(Zoo.double, output='label')\n"
    )
    (tmp_path / "my_broken.py").write_text("raise RuntimeError('boom')\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(as_model("my_models:Zoo.double")(points), 2 * points)
    assert as_model("my_models:adapted").kind == "label"
    assert as_model("numpy:tanh", output=0)(points).shape == (3,)
    for name, message in {
        "my_models:missing": "has no missing",
        "my_models:path": "text, not a model",
        "my_broken:model": "RuntimeError: boom",
        "no_such_module_here:model": "No module named",
    }.items():
        with pytest.raises(NotAModel, match=message):
            as_model(name)
