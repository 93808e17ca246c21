"""A PyTorch model with a layer in vlad: a network learns the parameters of a spring from its motion.

Measurements of a spring are a tensor. A small PyTorch network estimates the spring's stiffness and friction from it; the
layer in vlad simulates such a spring, step by step, and returns its predicted positions. PyTorch trains the network to
predict the measured positions: its derivatives include the simulation, which vlad differentiates.

    python examples/embedding/torch_layer.py
"""

from __future__ import annotations

import torch

import vlad

SPRING = """
; where a spring of a stiffness and a friction is, seen 8 times, 4 steps apart; released at 1
(define (swing properties)
  (define stiffness (tensor-ref properties 0))
  (define friction (tensor-ref properties 1))
  (define (steps n position speed)
    (if (= n 0)
        (cons position speed)
        (let ((faster (- speed (* 0.1 (+ (* stiffness position) (* friction speed))))))
          (steps (- n 1) (+ position (* 0.1 faster)) faster))))
  (let loop ((seen '()) (position 1) (speed 0))
    (if (= (length seen) 8)
        (tensor (reverse seen))
        (let (((cons position speed) (steps 4 position speed)))
          (loop (cons position seen) position speed)))))

(define (swings batch) (stack (map swing (tensor->rows batch))))
(define (tensor->rows batch)
  (map (lambda (i) (tensor-ref batch i)) (iota (car (shape batch)))))
"""


def main() -> None:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    session = vlad.Session()
    session.eval(SPRING)
    swings = vlad.to_torch(session["swings"])
    properties = torch.rand(16, 2) * torch.tensor([2.0, 0.8]) + torch.tensor([1.0, 0.1])
    measured = swings(properties)

    network = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2), torch.nn.Softplus()
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.03)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.mean((swings(network(measured)) - measured) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    error = torch.mean(torch.abs(network(measured) - properties)).item()
    print("the loss fell to less than a tenth:", losses[-1] < losses[0] / 10)
    print("properties are found to within 0.15 in the mean:", error < 0.15)
    print(
        "derivatives agree with finite differences:",
        torch.autograd.gradcheck(swings, (properties[:2].clone().requires_grad_(),)),
    )


if __name__ == "__main__":
    main()
