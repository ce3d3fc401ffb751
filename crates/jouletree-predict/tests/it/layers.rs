//! Predictors of layers on the measured layers and networks of the development data.

use test_support::development;

use jouletree_model::Joules;
use jouletree_predict::layers::{Evaluation, LayerKind, evaluate};

fn evaluation() -> Option<Evaluation> {
    let folder = development::development_data("getzner")?;
    Some(evaluate(&folder).unwrap())
}

#[test]
fn the_additive_model_meets_its_limits() {
    let Some(evaluation) = evaluation() else { return };
    let limits = [
        (LayerKind::Conv2d, 15.0),
        (LayerKind::MaxPool2d, 5.0),
        (LayerKind::Linear, 5.0),
        (LayerKind::Sigmoid, 10.0),
        (LayerKind::Tanh, 12.0),
        (LayerKind::Softmax, 8.0),
    ];
    for (kind, limit) in limits {
        let scores = &evaluation.layers[&kind];
        let (error, coverage) = (scores.additive.mean_percent, scores.coverage_percent);
        println!("{kind}: {error:.2} % (limit {limit} %), intervals hold {coverage:.1} %");
        assert!(error <= limit, "{kind}: {scores:?}");
        assert_eq!(scores.additive.negative, 0, "{kind}");
        assert!((85.0..=95.0).contains(&coverage), "{kind}: {coverage}");
    }
    for (name, scores) in &evaluation.networks {
        println!(
            "{name}: mean {:.2} %, worst {:.2} %; published {:.0} %",
            scores.additive.mean_percent, scores.additive.worst_percent, scores.published.mean_percent
        );
    }
    let networks = evaluation.networks["all"].additive;
    assert!(networks.mean_percent <= 7.5 && networks.worst_percent <= 13.0, "{networks:?}");
}

/// Half of the last digit that a figure is written with.
fn near(found: f64, wanted: f64, digit: f64, what: &str) {
    println!("{what}: {found}");
    assert!((found - wanted).abs() <= 0.5001 * digit, "{what}: {found}, not {wanted}");
}

/// The published predictors, on the published split of the part of the published rows that is at hand: what NumPy, pandas and
/// the published recipe make of the same tables. Beside it is what was published for all rows.
#[test]
fn the_published_predictors_are_those_of_the_publication() {
    let Some(evaluation) = evaluation() else { return };
    let reference = [
        // R2, scaled MSE, R2 under cross-validation, intercept in joules
        (LayerKind::Conv2d, 0.9919, 8.105e-6, 0.9953, 186.740), // 0.9977, 2.779e-5, 0.994, 215.8
        (LayerKind::MaxPool2d, 0.9982, 7.010e-7, 0.9994, -478.156), // 0.9995, 7.736e-7, 0.999
        (LayerKind::Linear, 0.9985, 4.127e-5, 0.9989, 0.041),   // 0.9992, 3.384e-5, 0.999, 0.0451
        (LayerKind::Relu, 0.9790, 9.291e-4, 0.9778, -8.558),    // 0.9812, 8.998e-4, 0.981, -7.68
        (LayerKind::Sigmoid, 0.9743, 1.551e-3, 0.9807, 0.432),  // 0.9905, 7.538e-4, 0.981
        (LayerKind::Tanh, 0.9695, 1.916e-3, 0.9734, 22.438),    // 0.9761, 1.412e-3, 0.976
        (LayerKind::Softmax, 0.9895, 4.968e-4, 0.9904, 0.349),  // 0.9913, 4.972e-4, 0.989
    ];
    for (kind, r2, mse, validated, intercept) in reference {
        let scores = &evaluation.layers[&kind];
        near(scores.published.unwrap().r2, r2, 1e-4, &format!("{kind} R2"));
        let power = 10_f64.powi(f64::log10(mse).floor() as i32 - 3);
        near(scores.published_scaled_mse.unwrap(), mse, power, &format!("{kind} MSE"));
        near(scores.published_cross_validated_r2.unwrap(), validated, 1e-4, &format!("{kind} cross-validated R2"));
        near(scores.published_intercept.unwrap().0, intercept, 1e-3, &format!("{kind} intercept"));
    }
    let reference = [
        // R2 and mean error in percent, then R2 with real layers among those fitted on
        (LayerKind::Conv2d, 0.365, 807.65, 0.391), // 0.314, 735.22 %, 0.395
        (LayerKind::MaxPool2d, 0.838, 669.93, 0.899), // 0.559, 530.42 %, 0.679
        (LayerKind::Linear, 0.970, 18.90, 0.971),  // 0.977, 16.70 %, 0.978
        (LayerKind::Relu, -21.326, 94524.0, -21.326), // -21.5, 75011.80 %
    ];
    for (kind, r2, error, with_real) in reference {
        let scores = &evaluation.network_layers[&kind];
        near(scores.published.r2, r2, 1e-3, &format!("{kind} of networks, R2"));
        near(scores.published.mean_percent, error, 1e-2, &format!("{kind} of networks, error"));
        let found = scores.published_with_real_layers.unwrap().r2;
        near(found, with_real, 1e-3, &format!("{kind} of networks, R2 with real layers"));
    }
}

/// A sum over a network brings along the intercept of every layer, and real layers hardly help.
#[test]
fn the_published_fault_spoils_networks_as_published() {
    let Some(evaluation) = evaluation() else { return };
    let reference = [
        // R2 and mean error in percent, then R2 with real layers among those fitted on
        ("all", 0.539, 636.5, 0.576),          // 0.352, 617 %, 0.450
        ("alexnet", -44.864, 1236.3, -42.321), // -66.66, 1486.5 %
        ("vgg11", -0.027, 231.7, 0.064),       // -0.445, 274.63 %
        ("vgg16", 0.248, 98.6, 0.310),         // -0.044, 116.14 %
    ];
    for (name, r2, error, with_real) in reference {
        let scores = &evaluation.networks[name];
        near(scores.published.r2, r2, 1e-3, &format!("{name}, R2"));
        near(scores.published.mean_percent, error, 0.1, &format!("{name}, error"));
        let found = scores.published_with_real_layers.unwrap().r2;
        near(found, with_real, 1e-3, &format!("{name}, R2 with real layers"));
    }
    let all = evaluation.networks["all"].published;
    let kilowatt_hour = Joules::PER_KILOWATT_HOUR;
    // Published: 2.4288e-7 and 4.714e-4.
    near(all.mse_j2 / (kilowatt_hour * kilowatt_hour), 1.5757e-7, 1e-11, "MSE in square kWh");
    near(all.mae_j / kilowatt_hour, 3.7328e-4, 1e-8, "MAE in kWh");
}
