"""Objects in attributes, properties, class variables, and handed from class to class."""
import tensorflow as tf


class Store:
    shared = tf.Variable(0, dtype=tf.int32)

    def __init__(self, optimizer=None):
        self._optimizer = optimizer
        self.items = []
        self.table = {}

    @property
    def optimizer(self):
        if self._optimizer is None:
            self._optimizer = tf.keras.optimizers.SGD(0.5)
        return self._optimizer

    @classmethod
    def count(cls):
        cls.shared.assign_add(1)
        return int(cls.shared.numpy())

    @staticmethod
    def fresh(value):
        return tf.Variable(float(value))

    def put(self, key, value):
        self.table[key] = value
        self.items.append(value)


class Trainer:
    def __init__(self, store: Store):
        self.store = store
        self.variable = Store.fresh(3)
        self.store.put("v", self.variable)

    def run(self):
        with tf.GradientTape() as tape:
            loss = self.variable * self.variable
        grad = tape.gradient(loss, self.variable)
        self.store.optimizer.apply_gradients([(grad, self.variable)])
        return self


store = Store()
print(Trainer(store).run().run().variable.numpy())
print(Store.count(), store.count())
print(store.table["v"].numpy(), [item.numpy() for item in store.items])
print(round(float(store.optimizer.learning_rate.numpy()), 2))
