// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
// A plain rclcpp node driven by a timer of its (simulated) clock, as timer_node.py.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "geometry_msgs/msg/point_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64.hpp"

class Timer : public rclcpp::Node
{
public:
  Timer()
  : Node("timer")
  {
    publisher_ = create_publisher<geometry_msgs::msg::PointStamped>("~/point", 10);
    subscription_ = create_subscription<std_msgs::msg::Float64>(
      "number", 10, [this](const std_msgs::msg::Float64 & message) {newest_ = message.data;});
    timer_ = rclcpp::create_timer(
      this, get_clock(), std::chrono::milliseconds(20), [this]() {on_timer();});
  }

private:
  void on_timer()
  {
    ++fired_;
    geometry_msgs::msg::PointStamped point;
    point.header.stamp = now();
    point.header.frame_id = std::string("timer").substr(0, std::min(fired_ % 6, 5));
    point.point.x = newest_;
    point.point.y = fired_;
    publisher_->publish(point);
  }

  int fired_{0};
  double newest_{0.0};
  rclcpp::Publisher<geometry_msgs::msg::PointStamped>::SharedPtr publisher_;
  rclcpp::Subscription<std_msgs::msg::Float64>::SharedPtr subscription_;
  rclcpp::TimerBase::SharedPtr timer_;
};

int main(int argc, char * argv[])
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<Timer>());
  rclcpp::shutdown();
  return 0;
}
