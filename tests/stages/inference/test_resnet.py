"""ResNet-18 has torchvision's names and shapes, and works as a network."""

from penstock.stages.modules import module_factory


def test_parameters_are_those_of_torchvision():
    import torch

    with torch.device("meta"):
        module = module_factory("resnet18")()
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    assert sum(parameter.numel() for parameter in module.parameters()) == 11_689_512
    assert len(shapes) == 122
    assert shapes["conv1.weight"] == (64, 3, 7, 7)
    assert shapes["layer1.1.bn2.running_var"] == (64,)
    assert shapes["layer2.0.downsample.0.weight"] == (128, 64, 1, 1)
    assert shapes["layer4.0.downsample.1.num_batches_tracked"] == ()
    assert shapes["layer4.1.conv2.weight"] == (512, 512, 3, 3)
    assert shapes["fc.weight"] == (1000, 512)
    assert not [name for name in shapes if name.startswith(("layer1.0.downsample", "layer2.1.downsample"))]


def test_each_layer_halves_the_image():
    import torch

    module = module_factory("resnet18")(num_classes=7).eval()
    seen = []
    for name in ("maxpool", "layer1", "layer2", "layer3", "layer4"):
        module.get_submodule(name).register_forward_hook(lambda *given: seen.append(tuple(given[-1].shape[1:])))
    with torch.inference_mode():
        assert module(torch.zeros(2, 3, 64, 96)).shape == (2, 7)
    assert seen == [(64, 16, 24), (64, 16, 24), (128, 8, 12), (256, 4, 6), (512, 2, 3)]


def test_a_block_adds_its_shortcut():
    import torch

    from penstock.stages.inference._resnet import Block

    block = Block(64, 64, stride=1).eval()
    for parameter in block.parameters():
        torch.nn.init.zeros_(parameter)
    given = torch.randn(1, 64, 4, 4, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        torch.testing.assert_close(block(given), given.relu())
