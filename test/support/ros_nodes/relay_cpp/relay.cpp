// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
// A plain rclcpp node: one input, one output, as relay_node.py. It knows nothing of any co-simulation.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64.hpp"

class Relay : public rclcpp::Node
{
public:
  Relay()
  : Node("relay")
  {
    delay_ms_ = declare_parameter<std::int64_t>("delay_ms", 0);
    publisher_ = create_publisher<std_msgs::msg::Float64>("sum", 10);
    subscription_ = create_subscription<std_msgs::msg::Float64>(
      "number", 10, [this](const std_msgs::msg::Float64 & message) {on_number(message.data);});
  }

private:
  void on_number(double number)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    sum_ = sum_ * 0.75 + number;
    std_msgs::msg::Float64 sum;
    sum.data = sum_;
    publisher_->publish(sum);
  }

  std::int64_t delay_ms_{0};
  double sum_{0.0};
  rclcpp::Publisher<std_msgs::msg::Float64>::SharedPtr publisher_;
  rclcpp::Subscription<std_msgs::msg::Float64>::SharedPtr subscription_;
};

int main(int argc, char * argv[])
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<Relay>());
  rclcpp::shutdown();
  return 0;
}
